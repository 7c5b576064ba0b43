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
var describeColumns = []types.Column{
	{Name: "is_hidden", Type: types.BitType}, {Name: "column_ordinal", Type: types.IntType},
	{Name: "name", Type: types.SysNameType, Nullable: true}, {Name: "is_nullable", Type: types.BitType},
	{Name: "system_type_id", Type: types.IntType},
	{Name: "system_type_name", Type: types.NVarCharOf(256), Nullable: true},
	{Name: "max_length", Type: types.SmallIntType},
	{Name: "precision", Type: types.TinyIntType}, {Name: "scale", Type: types.TinyIntType},
	{Name: "collation_name", Type: types.SysNameType, Nullable: true},
	{Name: "user_type_id", Type: types.IntType, Nullable: true},
	{Name: "user_type_database", Type: types.SysNameType, Nullable: true},
	{Name: "user_type_schema", Type: types.SysNameType, Nullable: true},
	{Name: "user_type_name", Type: types.SysNameType, Nullable: true},
	{Name: "assembly_qualified_type_name", Type: types.NVarCharOf(4000), Nullable: true},
	{Name: "xml_collection_id", Type: types.IntType, Nullable: true},
	{Name: "xml_collection_database", Type: types.SysNameType, Nullable: true},
	{Name: "xml_collection_schema", Type: types.SysNameType, Nullable: true},
	{Name: "xml_collection_name", Type: types.SysNameType, Nullable: true}, {Name: "is_xml_document", Type: types.BitType},
	{Name: "is_case_sensitive", Type: types.BitType}, {Name: "is_fixed_length_clr_type", Type: types.BitType},
	{Name: "source_server", Type: types.SysNameType, Nullable: true},
	{Name: "source_database", Type: types.SysNameType, Nullable: true}, {Name: "source_schema", Type: types.SysNameType, Nullable: true},
	{Name: "source_table", Type: types.SysNameType, Nullable: true},
	{Name: "source_column", Type: types.SysNameType, Nullable: true},
	{Name: "is_identity_column", Type: types.BitType, Nullable: true},
	{Name: "is_part_of_unique_key", Type: types.BitType, Nullable: true},
	{Name: "is_updateable", Type: types.BitType, Nullable: true},
	{Name: "is_computed_column", Type: types.BitType, Nullable: true},
	{Name: "is_sparse_column_set", Type: types.BitType, Nullable: true},
	{Name: "ordinal_in_order_by_list", Type: types.SmallIntType, Nullable: true},
	{Name: "order_by_is_descending", Type: types.SmallIntType, Nullable: true},
	{Name: "order_by_list_length", Type: types.SmallIntType, Nullable: true},
	{Name: "tds_type_id", Type: types.IntType}, {Name: "tds_length", Type: types.IntType},
	{Name: "tds_collation_id", Type: types.IntType, Nullable: true},
	{Name: "tds_collation_sort_id", Type: types.TinyIntType, Nullable: true},
}

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
