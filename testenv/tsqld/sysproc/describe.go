package sysproc

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// describeFirst executes sp_describe_first_result_set @tsql, @params, @browse_information_mode: it
// returns the columns of the first query of a batch and executes nothing (documentation:
// sp_describe_first_result_set).
func (r *Executor) describeFirst(a Arguments) (int32, error) {
	if mode, _ := a["browse_information_mode"].(int64); mode != 0 {
		return 1, mserr.NotSupported("sp_describe_first_result_set with @browse_information_mode = %d", mode)
	}
	cols, err := r.host.FirstResult(a.text("tsql"), a.text("params"))
	if err != nil {
		return 1, err
	}
	rows := make([][]types.Value, len(cols))
	for i, c := range cols {
		rows[i] = describedColumn(i+1, c)
	}
	return r.sendAll(describeColumns, rows)
}

// describeColumns are the columns of sp_describe_first_result_set.
var describeColumns = columns(`
	is_hidden bit, column_ordinal int, name sysname NULL, is_nullable bit, system_type_id int,
	system_type_name nvarchar(256) NULL, max_length smallint, precision tinyint, scale tinyint,
	collation_name sysname NULL, user_type_id int NULL, user_type_database sysname NULL, user_type_schema sysname NULL,
	user_type_name sysname NULL, assembly_qualified_type_name nvarchar(4000) NULL, xml_collection_id int NULL,
	xml_collection_database sysname NULL, xml_collection_schema sysname NULL, xml_collection_name sysname NULL,
	is_xml_document bit, is_case_sensitive bit, is_fixed_length_clr_type bit, source_server sysname NULL,
	source_database sysname NULL, source_schema sysname NULL, source_table sysname NULL, source_column sysname NULL,
	is_identity_column bit NULL, is_part_of_unique_key bit NULL, is_updateable bit NULL, is_computed_column bit NULL,
	is_sparse_column_set bit NULL, ordinal_in_order_by_list smallint NULL, order_by_is_descending smallint NULL,
	order_by_list_length smallint NULL, tds_type_id int, tds_length int, tds_collation_id int NULL,
	tds_collation_sort_id tinyint NULL`)

// describedColumn returns a row of sp_describe_first_result_set.
func describedColumn(ordinal int, c types.Column) []types.Value {
	t := c.Type
	var name, collation, wire, sort types.Value
	if c.Name != "" {
		name = c.Name
	}
	if t.IsCharacter() {
		collation, wire, sort = t.Collation.String(), int64(t.Collation.Wire()), int64(t.Collation.SortID())
	}
	id, length := tdsType(c)
	return []types.Value{
		int64(0), int64(ordinal), name, types.BitOf(c.Nullable), int64(t.SystemTypeID()), t.String(), int64(t.MaxLength()),
		int64(t.SysPrecision()), int64(t.SysScale()), collation,
		nil, nil, nil, nil, nil, nil, nil, nil, nil, int64(0), types.BitOf(t.IsCharacter() && !t.Collation.IgnoresCase()),
		int64(0), nil, nil, nil, nil, nil,
		types.BitOf(c.Identity), nil, types.BitOf(!c.Computed && !c.Identity), types.BitOf(c.Computed), int64(0), nil, nil, nil, id,
		length, wire, sort,
	}
}

// tdsType returns the type of a column in TDS and its length (MS-TDS 2.2.5.4).
func tdsType(c types.Column) (id, length int64) {
	t := c.Type
	length = int64(t.MaxLength())
	id = int64(t.SystemTypeID())
	if c.Nullable {
		switch t.ID {
		case types.Bit:
			id = 104
		case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
			id = 38
		case types.Real, types.Float:
			id = 109
		case types.Money, types.SmallMoney:
			id = 110
		case types.DateTime, types.SmallDateTime:
			id = 111
		}
	}
	switch {
	case t.ID == types.RowVersion:
		id = 173
	case t.ID == types.Decimal:
		length = 17
	case t.ID == types.Variant:
		length = 8009
	case t.ID == types.Text, t.ID == types.Image:
		length = 1<<31 - 1
	case t.ID == types.NText:
		length = 1<<31 - 2
	case length == -1:
		length = 65535
	}
	return id, length
}
