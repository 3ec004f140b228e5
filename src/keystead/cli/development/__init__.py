"""`keystead dev`: a development server, its folder, credentials and first contents."""
