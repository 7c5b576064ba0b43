package sysproc

import (
	"encoding/binary"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// clientProcedures returns the procedures that Microsoft's SqlClient calls by itself: SqlBulkCopy
// reads the collations of the target, and SqlCommandBuilder.DeriveParameters the parameters of a
// procedure. Source: SqlBulkCopy.cs and SqlCommand.cs of SqlClient.
func clientProcedures() []*Procedure {
	const object = "@object nvarchar(4000) = NULL"
	const params = "@procedure_name sysname, @group_number int = NULL, @procedure_schema sysname = NULL, @parameter_name sysname = NULL"
	return []*Procedure{
		native("sp_tablecollations", object, (*Executor).tableCollations),
		native("sp_tablecollations_90", object, (*Executor).tableCollations),
		native("sp_tablecollations_100", object, (*Executor).tableCollations),
		native("sp_procedure_params_managed", params, (*Executor).procedureParamsManaged),
		native("sp_procedure_params_90_managed", params, (*Executor).procedureParamsManaged),
		native("sp_procedure_params_100_managed", params, (*Executor).procedureParams100Managed),
	}
}

// sendAll sends a result set and returns the return code.
func (r *Executor) sendAll(cols []types.Column, rows [][]types.Value) (int32, error) {
	if err := r.host.Result(cols, rows); err != nil {
		return 1, err
	}
	return 0, nil
}

// tableCollations executes sp_tablecollations: it returns a row for each column, with its collation
// in the format of TDS. A missing table has no rows.
func (r *Executor) tableCollations(a Arguments) (int32, error) {
	name := session.SplitName(a.text("object"))
	t := r.host.LocalTable(name.Last())
	if t == nil {
		o, _, err := r.object(name)
		if err != nil {
			return 1, err
		}
		t, _ = o.(*catalog.Table)
	}
	var rows [][]types.Value
	if t != nil {
		for i, c := range t.Columns {
			row := []types.Value{int64(i + 1), c.Name, nil, nil}
			if c.Type.IsCharacter() {
				row[2] = append(binary.LittleEndian.AppendUint32(nil, c.Type.Collation.Wire()),
					c.Type.Collation.SortID())
				row[3] = c.Type.Collation.String()
			}
			rows = append(rows, row)
		}
	}
	return r.sendAll([]types.Column{
		{Name: "colid", Type: types.IntType}, {Name: "name", Type: types.SysNameType, Nullable: true},
		{Name: "tds_collation", Type: types.Type{ID: types.Binary, Length: 5}, Nullable: true},
		{Name: "collation", Type: types.SysNameType, Nullable: true},
	}, rows)
}

// Values of PARAMETER_TYPE (OLE DB, DBPARAMTYPE).
const (
	paramInput       = 1
	paramInputOutput = 2
	paramReturn      = 4
)

// clientTypes maps types to their numbers in .NET (SqlDbType) and OLE DB (DBTYPE).
var clientTypes = map[types.ID]struct{ managed, oledb int64 }{
	types.Bit: {2, 11}, types.TinyInt: {20, 17}, types.SmallInt: {16, 2}, types.Int: {8, 3}, types.BigInt: {0, 20},
	types.Decimal: {5, 131},
	types.Money:   {9, 6}, types.SmallMoney: {17, 6}, types.Real: {13, 4}, types.Float: {6, 5},
	types.Date: {31, 133}, types.Time: {32, 145}, types.DateTime: {4, 135}, types.SmallDateTime: {15, 135},
	types.DateTime2: {33, 135}, types.DateTimeOffset: {34, 146},
	types.Char: {3, 129}, types.VarChar: {22, 129}, types.Text: {18, 129}, types.NChar: {10, 130},
	types.NVarChar: {12, 130}, types.NText: {11, 130},
	types.Binary: {1, 128}, types.VarBinary: {21, 128}, types.Image: {7, 128}, types.RowVersion: {19, 128},
	types.UniqueIdentifier: {14, 72}, types.XML: {25, 141}, types.Variant: {23, 12},
}

// The numbers of a table-valued parameter.
const (
	managedStructured = 30
	oledbTable        = 143
)

// procedureParam is a row of sp_procedure_params_100_managed and its older variants.
type procedureParam struct {
	database, schema, proc string
	position               int
	kind                   int64
	catalog.Param
}

// procedureParams100Managed executes sp_procedure_params_100_managed.
func (r *Executor) procedureParams100Managed(a Arguments) (int32, error) {
	return r.procedureParams(a, func(p procedureParam) []types.Value {
		typeCatalog, typeSchema, typeName := r.paramType(p)
		managed := clientTypes[p.Type.ID].managed
		if p.TableTypeID != 0 {
			managed = managedStructured
		}
		return []types.Value{managed, typeCatalog, typeSchema, typeName, nil, nil, nil, fractionalDigits(p.Type)}
	}, []types.Column{
		{Name: "MANAGED_DATA_TYPE", Type: types.SmallIntType},
		{Name: "TYPE_CATALOG_NAME", Type: types.SysNameType, Nullable: true},
		{Name: "TYPE_SCHEMA_NAME", Type: types.SysNameType, Nullable: true}, {Name: "TYPE_NAME", Type: types.SysNameType, Nullable: true},
		{Name: "XML_CATALOGNAME", Type: types.SysNameType, Nullable: true},
		{Name: "XML_SCHEMANAME", Type: types.SysNameType, Nullable: true},
		{Name: "XML_SCHEMACOLLECTIONNAME", Type: types.SysNameType, Nullable: true},
		{Name: "SS_DATETIME_PRECISION", Type: types.IntType, Nullable: true},
	})
}

// procedureParamsManaged executes sp_procedure_params_managed, which is for clients of SQL Server
// 2005.
func (r *Executor) procedureParamsManaged(a Arguments) (int32, error) {
	return r.procedureParams(a, func(p procedureParam) []types.Value {
		_, _, typeName := r.paramType(p)
		return []types.Value{typeName, nil, nil, nil, nil, nil, nil}
	}, []types.Column{
		{Name: "TYPE_NAME", Type: types.SysNameType, Nullable: true}, {Name: "UDT_CATALOG", Type: types.SysNameType, Nullable: true},
		{Name: "UDT_SCHEMA", Type: types.SysNameType, Nullable: true},
		{Name: "UDT_NAME", Type: types.SysNameType, Nullable: true}, {Name: "XML_CATALOGNAME", Type: types.SysNameType, Nullable: true},
		{Name: "XML_SCHEMANAME", Type: types.SysNameType, Nullable: true},
		{Name: "XML_SCHEMACOLLECTIONNAME", Type: types.SysNameType, Nullable: true},
	})
}

// procedureParams sends a row for the return value and for each parameter of the procedures and
// scalar functions with a name. A row has the common columns followed by the columns of more.
func (r *Executor) procedureParams(
	a Arguments, more func(procedureParam) []types.Value, moreCols []types.Column,
) (int32, error) {
	var rows [][]types.Value
	for _, p := range r.findParams(a.text("procedure_name"), a.text("procedure_schema")) {
		if name := a.text("parameter_name"); name != "" && !catalog.EqualNames(name, p.Name) {
			continue
		}
		length, octets := lengths(p.Param)
		precision, scale := digits(p.Type)
		oledb := clientTypes[p.Type.ID].oledb
		if p.TableTypeID != 0 {
			oledb = oledbTable
		}
		row := []types.Value{
			p.database, p.schema, p.proc, p.Name, int64(p.position), p.kind, types.BitOf(p.HasDefault),
			types.BitOf(p.kind != paramReturn), oledb,
			length, octets, precision, scale,
		}
		rows = append(rows, append(row, more(p)...))
	}
	return r.sendAll(append([]types.Column{
		{Name: "PROCEDURE_CATALOG", Type: types.SysNameType, Nullable: true},
		{Name: "PROCEDURE_SCHEMA", Type: types.SysNameType, Nullable: true}, {Name: "PROCEDURE_NAME", Type: types.SysNameType},
		{Name: "PARAMETER_NAME", Type: types.SysNameType, Nullable: true}, {Name: "ORDINAL_POSITION", Type: types.SmallIntType},
		{Name: "PARAMETER_TYPE", Type: types.SmallIntType},
		{Name: "PARAMETER_HASDEFAULT", Type: types.BitType}, {Name: "IS_NULLABLE", Type: types.BitType},
		{Name: "DATA_TYPE", Type: types.SmallIntType},
		{Name: "CHARACTER_MAXIMUM_LENGTH", Type: types.IntType, Nullable: true},
		{Name: "CHARACTER_OCTET_LENGTH", Type: types.IntType, Nullable: true},
		{Name: "NUMERIC_PRECISION", Type: types.SmallIntType, Nullable: true},
		{Name: "NUMERIC_SCALE", Type: types.SmallIntType, Nullable: true},
	}, moreCols...), rows)
}

// findParams returns the parameters of the visible procedures and scalar functions with a name.
func (r *Executor) findParams(name, schema string) []procedureParam {
	d := r.s.DatabaseByID(r.s.DatabaseID)
	var out []procedureParam
	for o := range d.Objects() {
		h := o.Head()
		sc := d.SchemaByID(h.SchemaID)
		if !catalog.EqualNames(h.Name, name) || sc == nil || schema != "" && !catalog.EqualNames(sc.Name, schema) ||
			!r.objects.Visible(d, o) {
			continue
		}
		returns := types.IntType
		var params []catalog.Param
		switch o := o.(type) {
		case *catalog.Procedure:
			params = o.Params
		case *catalog.Function:
			if o.Kind != catalog.KindScalarFunction {
				continue
			}
			params, returns = o.Params, o.Returns
		default:
			continue
		}
		p := procedureParam{
			database: d.Name, schema: sc.Name, proc: h.Name, kind: paramReturn,
			Param: catalog.Param{Name: "@RETURN_VALUE", Type: returns},
		}
		out = append(out, p)
		for i, param := range params {
			p.position, p.kind, p.Param = i+1, paramInput, param
			if param.Output {
				p.kind = paramInputOutput
			}
			out = append(out, p)
		}
	}
	return out
}

// paramType returns the name of a parameter's type. Only table types have a database and a schema.
func (r *Executor) paramType(p procedureParam) (database, schema, name types.Value) {
	if p.TableTypeID == 0 {
		return nil, nil, p.Type.Name()
	}
	d := r.s.DatabaseByID(r.s.DatabaseID)
	tt, ok := d.ObjectByID(p.TableTypeID).(*catalog.TableType)
	if !ok {
		return nil, nil, nil
	}
	if sc := d.SchemaByID(tt.SchemaID); sc != nil {
		schema = sc.Name
	}
	return d.Name, schema, tt.Name
}

// lengths returns CHARACTER_MAXIMUM_LENGTH and CHARACTER_OCTET_LENGTH. Like SQL Server it returns 0
// for (max).
func lengths(p catalog.Param) (length, octets types.Value) {
	t := p.Type
	switch {
	case p.TableTypeID != 0 || !t.IsCharacter() && !t.IsBinary() && t.ID != types.Image && t.ID != types.XML:
		return nil, nil
	case t.Length == types.Max || t.ID == types.XML:
		return int64(0), int64(0)
	case t.ID == types.NText:
		return int64(1<<30 - 1), int64(1<<31 - 2)
	case t.IsLOB():
		return int64(1<<31 - 1), int64(1<<31 - 1)
	}
	return int64(t.Length), int64(t.MaxLength())
}

// digits returns NUMERIC_PRECISION and NUMERIC_SCALE.
func digits(t types.Type) (precision, scale types.Value) {
	if !t.IsNumber() {
		return nil, nil
	}
	precision = int64(t.SysPrecision())
	if t.ID == types.Decimal {
		scale = int64(t.Scale)
	}
	return precision, scale
}

// fractionalDigits returns SS_DATETIME_PRECISION: the number of digits of fractional seconds.
func fractionalDigits(t types.Type) types.Value {
	switch t.ID {
	case types.Time, types.DateTime2, types.DateTimeOffset:
		return int64(t.Scale)
	case types.DateTime:
		return int64(3)
	case types.SmallDateTime, types.Date:
		return int64(0)
	}
	return nil
}
