"""What runs cells side by side: processes of this machine, or a Ray cluster."""
