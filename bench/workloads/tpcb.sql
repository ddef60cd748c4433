-- pgbench's TPC-B transaction as one call, for the tables that `pgbench -i` makes.
CREATE PROCEDURE tpcb(account integer, branch integer, teller integer, delta integer, INOUT balance integer)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pgbench_accounts SET abalance = abalance + delta WHERE aid = account;
    SELECT abalance INTO STRICT balance FROM pgbench_accounts WHERE aid = account;
    UPDATE pgbench_tellers SET tbalance = tbalance + delta WHERE tid = teller;
    UPDATE pgbench_branches SET bbalance = bbalance + delta WHERE bid = branch;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (teller, branch, account, delta, CURRENT_TIMESTAMP);
END
$$;
