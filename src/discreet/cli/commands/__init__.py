"""The commands of the command line, a file each; `app` names them."""
