"""What papers, audits and the calibration report share."""
