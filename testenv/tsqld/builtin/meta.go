package builtin

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// metaFuncs return metadata of a database's objects ("Metadata functions (Transact-SQL)").
var metaFuncs = []*Func{
	or0(of0(ofObjects, "DB_ID", types.SmallIntType, func(o Objects) (types.Value, error) { return foundID(o.DatabaseByName("")) }),
		of1(ofObjects, "DB_ID", types.SmallIntType, aText, evalDBID)),
	optional(of1(ofObjects, "DB_NAME", types.SysName, anInt, evalDBName)),
	of2(ofObjects, "DATABASEPROPERTYEX", types.VariantType, aText, aText, evalDatabaseProperty),
	optional(of2(ofObjects, "OBJECT_ID", types.IntType, aName, aText, evalObjectID)),
	optional(of2(ofObjects, "OBJECT_NAME", types.SysName, anID, anInt, evalObjectName)),
	optional(of2(ofObjects, "OBJECT_SCHEMA_NAME", types.SysName, anID, anInt, evalObjectSchema)),
	of1(ofObjects, "OBJECT_DEFINITION", types.NVarCharMax, anID, evalObjectDefinition),
	of2(ofObjects, "OBJECTPROPERTY", types.IntType, anID, aText, evalObjectProperty),
	of2(ofObjects, "OBJECTPROPERTYEX", types.VariantType, anID, aText, evalObjectPropertyEx),
	or0(of0(ofObjects, "SCHEMA_ID", types.IntType, func(o Objects) (types.Value, error) { return foundID(o.SchemaByName("")) }),
		of1(ofObjects, "SCHEMA_ID", types.IntType, aText, evalSchemaID)),
	or0(word(ofObjects, "SCHEMA_NAME", types.SysName, Objects.DefaultSchema),
		of1(ofObjects, "SCHEMA_NAME", types.SysName, anID, evalSchemaName)),
	of2(ofObjects, "COL_NAME", types.SysName, anID, anInt, evalColName),
	of2(ofObjects, "COL_LENGTH", types.SmallIntType, aName, aText, evalColLength),
	of3(ofObjects, "COLUMNPROPERTY", types.IntType, anID, aText, aText, evalColumnProperty),
	of3(ofObjects, "INDEXPROPERTY", types.IntType, anID, aText, aText, evalIndexProperty),
	of3(ofObjects, "INDEX_COL", types.SysName, aName, anInt, anInt, evalIndexCol),
	of1(ofObjects, "TYPE_ID", types.IntType, aName, evalTypeID),
	of1(ofObjects, "TYPE_NAME", types.SysName, anInt, evalTypeName),
	of2(ofObjects, "TYPEPROPERTY", types.IntType, aName, aText, evalTypeProperty),
	odbcScale,
}

func evalDBID(o Objects, name string) (types.Value, error) {
	id, ok := o.DatabaseByName(name)
	return foundID(id, ok && name != "")
}

func evalDBName(o Objects, id int) (types.Value, error) {
	name, ok := o.DatabaseByID(id)
	return found(name, ok && id >= 0)
}

func evalDatabaseProperty(o Objects, database, name string) (types.Value, error) {
	return property(o.DatabaseProperty(database, name))
}

// evalObjectID accepts an optional type such as U or P.
func evalObjectID(objects Objects, q qualified, kind string) (types.Value, error) {
	o, ok := objects.ObjectByName(q.database, q.schema, q.name)
	return foundID(o.ID, ok && (kind == "" || strings.EqualFold(kind, o.Kind)))
}

func evalObjectName(objects Objects, id int32, database int) (types.Value, error) {
	o, ok := objects.ObjectByID(database, id)
	return found(o.Name, ok)
}

func evalObjectSchema(objects Objects, id int32, database int) (types.Value, error) {
	o, ok := objects.ObjectByID(database, id)
	return found(o.Schema, ok)
}

func evalObjectDefinition(objects Objects, id int32) (types.Value, error) {
	return found(objects.ObjectDefinition(id))
}

// kindFlags are the properties that depend on the object's type only.
var kindFlags = map[string][]string{
	"ISTABLE": {"U", "S", "IT", "TT"}, "ISUSERTABLE": {"U"}, "ISSYSTEMTABLE": {"S"}, "ISVIEW": {"V"}, "ISPROCEDURE": {"P"},
	"ISSCALARFUNCTION": {"FN"}, "ISINLINEFUNCTION": {"IF"}, "ISTABLEFUNCTION": {"IF", "TF"}, "ISTRIGGER": {"TR"},
	"ISPRIMARYKEY": {"PK"}, "ISUNIQUECNST": {"UQ"}, "ISFOREIGNKEY": {"F"}, "ISCHECKCNST": {"C"}, "ISDEFAULTCNST": {"D"},
	"ISCONSTRAINT": {"PK", "UQ", "F", "C", "D"}, "ISEXECUTED": {"P", "V", "FN", "IF", "TF", "TR"}, "ISDEFAULT": {},
	"ISRULE": {}, "ISREPLPROC": {}, "ISEXTENDEDPROC": {"X"}, "ISQUEUE": {},
}

// evalObjectProperty returns NULL for an unknown object or property.
func evalObjectProperty(objects Objects, id int32, name string) (types.Value, error) {
	o, ok := objects.ObjectByID(0, id)
	if !ok {
		return nil, nil
	}
	key := strings.ToUpper(name)
	if kinds, known := kindFlags[key]; known {
		return types.BitOf(slices.Contains(kinds, o.Kind)), nil
	}
	switch key {
	case "SCHEMAID":
		return int64(o.SchemaID), nil
	case "ISMSSHIPPED":
		return types.BitOf(o.ID < 0 && (o.SchemaID == 3 || o.SchemaID == 4)), nil // INFORMATION_SCHEMA, sys
	}
	return foundID(objects.ObjectFlag(o.ID, name))
}

// evalObjectPropertyEx supports BaseType in addition to OBJECTPROPERTY.
func evalObjectPropertyEx(objects Objects, id int32, name string) (types.Value, error) {
	if strings.EqualFold(name, "BaseType") {
		o, ok := objects.ObjectByID(0, id)
		return property(types.Pad(o.Kind, 2), types.Type{ID: types.Char, Length: 2}, ok)
	}
	v, err := evalObjectProperty(objects, id, name)
	if v == nil {
		return nil, err
	}
	return types.VariantPack(v, types.IntType)
}

func evalSchemaID(o Objects, name string) (types.Value, error) {
	id, ok := o.SchemaByName(name)
	return foundID(id, ok && name != "")
}

func evalSchemaName(o Objects, id int32) (types.Value, error) { return found(o.SchemaByID(id)) }

func evalColName(objects Objects, table int32, column int) (types.Value, error) {
	for _, c := range objects.Columns(0, table) {
		if int(c.ID) == column {
			return c.Name, nil
		}
	}
	return nil, nil
}

// columnNamed finds a column by its name in any case.
func columnNamed(columns []Column, name string) (Column, bool) {
	for _, c := range columns {
		if types.Equal(c.Name, name, types.CI) {
			return c, true
		}
	}
	return Column{}, false
}

func evalColLength(objects Objects, q qualified, column string) (types.Value, error) {
	o, ok := objects.ObjectByName(q.database, q.schema, q.name)
	if !ok {
		return nil, nil
	}
	id := 0
	if q.database != "" {
		id, _ = objects.DatabaseByName(q.database)
	}
	c, ok := columnNamed(objects.Columns(id, o.ID), column)
	return foundID(int64(c.Type.MaxLength()), ok)
}

// evalColumnProperty supports the properties that columns and parameters have in this server.
func evalColumnProperty(objects Objects, id int32, column, what string) (types.Value, error) {
	c, ok := columnNamed(objects.Columns(0, id), column)
	if !ok {
		return nil, nil
	}
	is := map[string]bool{
		"ALLOWSNULL": c.Nullable, "ISIDENTITY": c.Identity, "ISCOMPUTED": c.Computed, "ISOUTPARAM": c.Output,
		"ISROWGUIDCOL": c.RowGUID, "ISSPARSE": c.Sparse, "ISINDEXABLE": c.Type.Comparable(),
		"ISHIDDEN": false, "ISCOLUMNSET": false, "ISFULLTEXTINDEXED": false, "ISIDNOTFORREPL": false, "ISXMLINDEXABLE": false,
		"ISCURSORTYPE": false, "GENERATEDALWAYSTYPE": false, "STATISTICALSEMANTICS": false, "FULLTEXTTYPECOLUMN": false,
		"SYSTEMDATAACCESS": false, "USERDATAACCESS": false, "ISSYSTEMVERIFIED": false,
	}
	what = strings.ToUpper(what)
	if v, ok := is[what]; ok {
		return types.BitOf(v), nil
	}
	switch what {
	case "COLUMNID", "ORDINAL":
		return int64(c.ID), nil
	case "PRECISION":
		if c.Type.Length != 0 {
			return int64(c.Type.Length), nil
		}
		return int64(c.Type.SysPrecision()), nil
	case "SCALE":
		return foundID(c.Type.SysScale(), c.Type.IsNumber() || c.Type.IsTemporal())
	case "CHARMAXLEN":
		return foundID(c.Type.Length, c.Type.IsString())
	case "USESANSITRIM":
		return foundID(1, c.Type.IsString() || c.Type.IsBinary())
	case "ISDETERMINISTIC", "ISPRECISE":
		return answer(c.Deterministic, c.Computed)
	}
	return nil, nil
}

func evalIndexProperty(objects Objects, id int32, index, what string) (types.Value, error) {
	return objects.IndexProperty(id, index, what), nil
}

func evalIndexCol(objects Objects, q qualified, index, column int) (types.Value, error) {
	o, ok := objects.ObjectByName(q.database, q.schema, q.name)
	if !ok {
		return nil, nil
	}
	k, ok := objects.IndexColumn(o.ID, index, column)
	return found(k.Name, ok)
}

func evalTypeID(objects Objects, q qualified) (types.Value, error) {
	id, _, ok := typeNamed(objects, q.schema, q.name)
	return foundID(id, ok)
}

// sysNameID is user_type_id of sysname.
const sysNameID = 256

// typeNamed finds a system type or a type of the database.
func typeNamed(objects Objects, schema, name string) (int32, types.Type, bool) {
	if schema == "" || strings.EqualFold(schema, "sys") {
		if strings.EqualFold(name, "sysname") {
			return sysNameID, types.SysName, true
		}
		for _, t := range types.ByID() {
			if strings.EqualFold(t.Name(), name) {
				return int32(t.UserTypeID()), t, true
			}
		}
	}
	return objects.TypeByName(schema, name)
}

func evalTypeName(objects Objects, id int) (types.Value, error) {
	if id == sysNameID {
		return "sysname", nil
	}
	for _, t := range types.ByID() {
		if t.UserTypeID() == id {
			return t.Name(), nil
		}
	}
	return found(objects.TypeByID(int32(id)))
}

func evalTypeProperty(objects Objects, q qualified, what string) (types.Value, error) {
	id, t, ok := typeNamed(objects, q.schema, q.name)
	if !ok {
		return nil, nil
	}
	isOwn := int(id) != t.UserTypeID() && id != sysNameID
	switch strings.ToUpper(what) {
	case "ALLOWSNULL":
		return types.BitOf(id != sysNameID && (!isOwn || objects.TypeAllowsNull(id))), nil
	case "OWNERID":
		if isOwn {
			return int64(1), nil // dbo: types have no owners of their own in this server
		}
		return int64(4), nil // sys
	case "PRECISION":
		if t.IsString() || t.IsBinary() {
			return int64(t.Length), nil
		}
		return int64(t.SysPrecision()), nil
	case "SCALE":
		return foundID(t.SysScale(), t.IsNumber() || t.IsTemporal())
	case "USESANSITRIM":
		return foundID(1, t.IsString() || t.IsBinary())
	}
	return nil, nil
}
