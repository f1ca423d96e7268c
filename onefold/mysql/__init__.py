"""MySQL and MariaDB servers: catalog, binary log, statements and consistent reads."""
