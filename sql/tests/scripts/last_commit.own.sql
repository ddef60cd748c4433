-- Where the session's last transaction stands that wrote anything; here are no logs
create table t (id int primary key);
select hyades_last_commit();
select pg_typeof(hyades_last_commit());
select hyades_last_commit(1);
