"""Results as one self-contained HTML file: no network, no scripts from elsewhere."""
