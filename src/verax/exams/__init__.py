"""What an explanation must survive; one file per exam."""
