CREATE INDEX CONCURRENTLY item_both ON item (name, id);
