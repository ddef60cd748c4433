-- DO.
create table t (id int primary key, v int);
do $$ begin insert into t values (1, 1), (2, 2); end $$;
select * from t order by id;
do language plpgsql $$
declare r record; n int := 0;
begin
  for r in select * from t order by id loop
    raise notice '% %', r.id, r.v;
    update t set v = v + 10 where id = r.id;
    n := n + 1;
  end loop;
  raise notice 'done %', n;
end $$ ;
do 'begin perform 1; end' language 'plpgsql';
select * from t order by id;
do $$ begin raise exception 'no' using hint = 'none'; end $$;
do $$ begin update t set v = 1 / 0; end $$;
select * from t order by id;
do $$ begin nonsense; end $$;
do $$ begin return; end $$;
do $$ begin return 1; end $$;
do language sql $$ select 1 $$;
do language klingon $$ x $$;
do;
begin;
do $$ begin delete from t where id = 1; end $$;
select * from t order by id;
rollback;
select * from t order by id;
