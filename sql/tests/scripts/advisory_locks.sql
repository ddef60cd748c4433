-- Advisory locks of one session.
select pg_advisory_lock(1)::text;
select pg_advisory_lock(1, 2)::text, pg_advisory_lock_shared(-5)::text;
select pg_try_advisory_lock(1), pg_try_advisory_lock(1, 2);
select locktype, classid, objid, objsubid, mode, granted, pid = pg_backend_pid() from pg_locks
  where locktype = 'advisory' order by 2, 3, 4;
select pg_advisory_unlock(1), pg_advisory_unlock(1);
select pg_advisory_unlock(1, 2);
select pg_advisory_unlock(1, 2), pg_advisory_unlock_shared(-5);
select count(*) from pg_locks where locktype = 'advisory';
select pg_advisory_lock(null::bigint) is null;
begin;
select pg_advisory_xact_lock(7)::text, pg_try_advisory_xact_lock_shared(8, 9);
savepoint s;
select pg_advisory_xact_lock(10)::text;
rollback to s;
select objid from pg_locks where locktype = 'advisory' order by 1;
commit;
select count(*) from pg_locks where locktype = 'advisory';
begin;
select pg_advisory_lock(11)::text;
rollback;
select objid from pg_locks where locktype = 'advisory';
select pg_advisory_unlock_all()::text;
select count(*) from pg_locks where locktype = 'advisory';
select pg_advisory_lock(9223372036854775807)::text, pg_advisory_lock(-1)::text;
select classid, objid from pg_locks where locktype = 'advisory' order by 1;
discard all;
select count(*) from pg_locks where locktype = 'advisory';
create table al (a int primary key);
insert into al values (1), (2), (3);
select a, pg_try_advisory_lock(a) from al order by a;
select count(*) from pg_locks where locktype = 'advisory';
create function locks(k bigint) returns bigint language plpgsql as $$
begin
  perform pg_advisory_xact_lock(k);
  return k;
end $$;
begin;
select locks(77);
select objid from pg_locks where objid = 77;
commit;
select count(*) from pg_locks where objid = 77;
begin;
do $$ begin
  perform pg_advisory_xact_lock(78);
  begin
    perform pg_advisory_xact_lock(79);
    raise exception 'x';
  exception when raise_exception then null;
  end;
  perform locks(80);
end $$;
select objid from pg_locks where objid in (78, 79, 80) order by 1;
rollback;
select count(*) from pg_locks where locktype = 'advisory' and objid > 70;
select pg_advisory_unlock_all()::text;
drop function locks;
drop table al;
