"""What lies on disk: records, data sets, pictures; how they are read and made."""
