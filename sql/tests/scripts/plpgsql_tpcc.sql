-- Procedures of the kind that TPC-C needs: reads by key, changes with RETURNING, loops over arrays.
create table warehouse (w_id int primary key, w_name varchar(10), w_tax numeric(4,4), w_ytd numeric(12,2));

create table district (d_w_id int, d_id int, d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id int, primary key (d_w_id, d_id));

create table customer (c_w_id int, c_d_id int, c_id int, c_last varchar(16), c_discount numeric(4,4), c_credit char(2), c_balance numeric(12,2), c_data text, primary key (c_w_id, c_d_id, c_id));

create table item (i_id int primary key, i_name varchar(24), i_price numeric(5,2), i_data varchar(50));

create table stock (s_w_id int, s_i_id int, s_quantity int, s_ytd bigint, s_order_cnt int, s_remote_cnt int, primary key (s_w_id, s_i_id));

create table orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_ol_cnt int, o_all_local int, primary key (o_w_id, o_d_id, o_id));

create table new_order (no_w_id int, no_d_id int, no_o_id int, primary key (no_w_id, no_d_id, no_o_id));

create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_quantity int, ol_amount numeric(8,2), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));

insert into warehouse values (1, 'one', 0.1000, 300000.00), (2, 'two', 0.0500, 300000.00);

insert into district values (1, 1, 0.0800, 30000.00, 3001), (1, 2, 0.0200, 30000.00, 3001);

insert into customer values (1, 1, 1, 'BARBAR', 0.1500, 'GC', -10.00, 'x'), (1, 1, 2, 'OUGHT', 0.0000, 'BC', 0.00, 'bad');

insert into item values (1, 'hammer', 9.99, 'ORIGINAL'), (2, 'nail', 0.10, 'plain'), (3, 'saw', 25.50, 'plain');

insert into stock values (1, 1, 91, 0, 0, 0), (1, 2, 12, 0, 0, 0), (1, 3, 50, 0, 0, 0), (2, 1, 40, 0, 0, 0);

create procedure new_order_tx(p_w_id int, p_d_id int, p_c_id int, p_items int[], p_supply int[], p_quantities int[], inout p_total numeric, out p_o_id int)
language plpgsql as $$
declare
    v_w_tax warehouse.w_tax%type;
    v_d_tax numeric(4,4);
    v_discount numeric;
    v_price numeric(5,2);
    v_quantity int;
    v_amount numeric(8,2);
    v_all_local int := 1;
    v_count int := array_length(p_items, 1);
begin
    select w_tax into v_w_tax from warehouse where w_id = p_w_id;
    if not found then
        raise exception 'no warehouse %', p_w_id using errcode = 'U0001';
    end if;
    update district set d_next_o_id = d_next_o_id + 1
        where d_w_id = p_w_id and d_id = p_d_id
        returning d_tax, d_next_o_id - 1 into v_d_tax, p_o_id;
    select c_discount into strict v_discount from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
    for i in 1..v_count loop
        if p_supply[i] <> p_w_id then
            v_all_local := 0;
        end if;
    end loop;
    insert into orders values (p_w_id, p_d_id, p_o_id, p_c_id, v_count, v_all_local);
    insert into new_order (no_o_id, no_d_id, no_w_id) values (p_o_id, p_d_id, p_w_id);
    p_total := 0;
    for i in 1..v_count loop
        select i_price into v_price from item where i_id = p_items[i];
        if not found then
            raise exception 'item number is not valid' using errcode = 'U0002', hint = 'Roll it back.';
        end if;
        select s_quantity into v_quantity from stock where s_w_id = p_supply[i] and s_i_id = p_items[i] for update;
        if v_quantity - p_quantities[i] >= 10 then
            v_quantity := v_quantity - p_quantities[i];
        else
            v_quantity := v_quantity - p_quantities[i] + 91;
        end if;
        update stock set s_quantity = v_quantity, s_ytd = s_ytd + p_quantities[i], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when p_supply[i] = p_w_id then 0 else 1 end
            where s_w_id = p_supply[i] and s_i_id = p_items[i];
        v_amount := p_quantities[i] * v_price;
        p_total := p_total + v_amount;
        insert into order_line values (p_w_id, p_d_id, p_o_id, i, p_items[i], p_quantities[i], v_amount);
    end loop;
    p_total := p_total * (1 + v_w_tax + v_d_tax) * (1 - v_discount);
end $$;

call new_order_tx(1, 1, 1, array[1, 2, 3], array[1, 1, 1], array[5, 5, 10], null, null);

call new_order_tx(1, 1, 1, '{2,1}', '{1,2}', '{3,35}', 0, null);

call new_order_tx(1, 1, 2, '{1,99}', '{1,1}', '{1,1}', null, null);

call new_order_tx(9, 1, 2, '{1}', '{1}', '{1}', null, null);

call new_order_tx(1, 1, 77, '{1}', '{1}', '{1}', null, null);

select * from orders order by 1, 2, 3;

select * from order_line order by 1, 2, 3, 4;

select * from stock order by 1, 2;

select * from district order by 1, 2;

create procedure payment(p_w_id int, p_d_id int, p_c_id int, p_amount numeric, out p_balance numeric, out p_name text) language plpgsql as $$
declare
    c customer%rowtype;
    v_name warehouse.w_name%type;
begin
    update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w_id returning w_name into v_name;
    update district set d_ytd = d_ytd + p_amount where d_w_id = p_w_id and d_id = p_d_id;
    select * into c from customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
    c.c_balance := c.c_balance - p_amount;
    if c.c_credit = 'BC' then
        c.c_data := left(p_c_id || ' ' || p_d_id || ' ' || p_w_id || ' ' || p_amount || '|' || c.c_data, 500);
        update customer set c_balance = c.c_balance, c_data = c.c_data where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
    else
        update customer set c_balance = c.c_balance where c_w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
    end if;
    p_balance := c.c_balance;
    p_name := v_name || '    ' || c.c_last;
end $$;

call payment(1, 1, 1, 100.50, null, null);

call payment(1, 1, 2, 7, null, null);

select * from customer order by 1, 2, 3;

select * from warehouse order by 1;

create procedure delivery(p_w_id int, inout p_done int) language plpgsql as $$
declare
    r record;
    v_o_id int;
    v_c_id int;
    v_amount numeric;
begin
    p_done := 0;
    for d in 1..2 loop
        select no_o_id into v_o_id from new_order where no_w_id = p_w_id and no_d_id = d order by no_o_id limit 1;
        continue when not found;
        delete from new_order where no_w_id = p_w_id and no_d_id = d and no_o_id = v_o_id;
        select o_c_id into v_c_id from orders where o_w_id = p_w_id and o_d_id = d and o_id = v_o_id;
        select sum(ol_amount) into v_amount from order_line where ol_w_id = p_w_id and ol_d_id = d and ol_o_id = v_o_id;
        update customer set c_balance = c_balance + v_amount where c_w_id = p_w_id and c_d_id = d and c_id = v_c_id;
        p_done := p_done + 1;
    end loop;
    for r in select c_id, c_balance from customer where c_w_id = p_w_id order by c_balance loop
        raise notice 'customer % has %', r.c_id, r.c_balance;
    end loop;
end $$;

call delivery(1, null);

select * from new_order order by 1, 2, 3;

create function stock_level(p_w_id int, p_d_id int, p_threshold int) returns bigint language plpgsql as $$
declare
    v_next int;
    v_low bigint;
begin
    select d_next_o_id into v_next from district where d_w_id = p_w_id and d_id = p_d_id;
    select count(distinct s_i_id) into v_low from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
        where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id < v_next and ol_o_id >= v_next - 20 and s_quantity < p_threshold;
    return v_low;
end $$;

select stock_level(1, 1, 100), stock_level(1, 1, 5) + 1 as none;

drop function stock_level;

drop procedure if exists payment(int, int, int, numeric), no_such(text);

call payment(1, 1, 1, 1, null, null);
