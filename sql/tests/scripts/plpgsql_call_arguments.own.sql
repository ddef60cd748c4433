-- subqueries in the arguments of CALL: PostgreSQL refuses them
-- when the procedure runs
create procedure q(k int) language plpgsql as $$
begin
  raise notice '%', k;
end $$;
call q((select 1));
create procedure p() language plpgsql as $$
begin
  call q((select 1));
end $$;
