"""The files of the web console, the link that opens it, and its logins."""
