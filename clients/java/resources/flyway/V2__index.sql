CREATE INDEX item_name ON item (name);
COPY item (id, name) FROM STDIN;
10	x
\.
