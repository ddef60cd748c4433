-- COMMIT and ROLLBACK in procedures.
create table pt (a int primary key, b text);
create procedure pt_odd(n int) language plpgsql as $$
begin
  for i in 1..n loop
    insert into pt values (i, 'x');
    if i % 2 = 0 then commit; else rollback; end if;
  end loop;
end $$;
call pt_odd(6);
select * from pt order by a;
begin;
call pt_odd(2);
rollback;
create function pt_function() returns int language plpgsql as $$
begin
  insert into pt values (100, 'f');
  commit;
  return 1;
end $$;
select pt_function();
create function pt_calls() returns int language plpgsql as $$
begin
  call pt_odd(20);
  return 1;
end $$;
create procedure pt_inner() language plpgsql as $$
begin
  insert into pt values (51, 'inner');
  commit;
end $$;
create procedure pt_outer() language plpgsql as $$
begin
  insert into pt values (50, 'outer');
  call pt_inner();
  insert into pt values (52, 'after');
  rollback;
  insert into pt values (53, 'last');
end $$;
call pt_outer();
select * from pt where a >= 50 order by a;
create procedure pt_fails() language plpgsql as $$
begin
  insert into pt values (60, 'kept');
  commit;
  insert into pt values (61, 'lost');
  perform 1/0;
end $$;
call pt_fails();
select * from pt where a >= 60 order by a;
create procedure pt_guarded() language plpgsql as $$
begin
  begin
    insert into pt values (70, 'x');
    commit;
  exception when invalid_transaction_termination then
    raise notice 'caught %', sqlerrm;
  end;
  begin
    rollback;
  exception when others then
    raise notice 'caught % %', sqlstate, sqlerrm;
  end;
  begin
    perform 1/0;
  exception when division_by_zero then
    insert into pt values (71, 'handler');
    commit;
  end;
end $$;
call pt_guarded();
select * from pt where a >= 70 order by a;
create procedure pt_loop() language plpgsql as $$
declare r record;
begin
  for r in select a from pt where a < 10 order by a loop
    insert into pt values (r.a + 80, 'loop');
    commit;
  end loop;
end $$;
call pt_loop();
select * from pt where a >= 80 order by a;
create procedure pt_out(inout x int, inout y text) language plpgsql as $$
begin
  insert into pt values (x, y);
  commit and no chain;
  x := x + 1;
  rollback;
  y := y || '!';
end $$;
call pt_out(90, 'out');
select * from pt where a >= 90 order by a;
do $$ begin insert into pt values (95, 'do'); commit; insert into pt values (96, 'do'); rollback; end $$;
select * from pt where a >= 95 order by a;
begin;
do $$ begin commit; end $$;
rollback;
create procedure pt_time(inout is_later boolean) language plpgsql as $$
declare t timestamptz := now();
begin
  commit;
  is_later := now() > t;
end $$;
call pt_time(null);
create procedure pt_settings() language plpgsql as $$
begin
  commit;
end $$;
begin;
savepoint s;
call pt_settings();
rollback;
call pt_settings();
create procedure pt_dynamic(n int) language plpgsql as $$
begin
  for i in 1..n loop
    execute 'insert into pt values ($1, $2)' using 200 + i, 'dynamic';
    commit;
  end loop;
end $$;
call pt_dynamic(3);
select * from pt where a >= 200 order by a;
drop procedure pt_odd, pt_outer, pt_inner, pt_fails, pt_guarded, pt_loop, pt_out, pt_time, pt_settings, pt_dynamic;
drop function pt_calls, pt_function;
drop table pt;
