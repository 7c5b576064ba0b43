package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// metaFuncs return metadata of a database's objects ("Metadata functions (Transact-SQL)").
var metaFuncs = []*Func{
	session(ofObjects, "DB_ID", 0, 1, types.SmallIntType, evalDBID),
	session(ofObjects, "DB_NAME", 0, 1, types.SysName, evalDBName),
	session(ofObjects, "DATABASEPROPERTYEX", 2, 2, types.VariantType, evalDatabaseProperty),
	session(ofObjects, "OBJECT_ID", 1, 2, types.IntType, evalObjectID),
	session(ofObjects, "OBJECT_NAME", 1, 2, types.SysName, evalObjectName),
	session(ofObjects, "OBJECT_SCHEMA_NAME", 1, 2, types.SysName, evalObjectSchema),
	session(ofObjects, "OBJECT_DEFINITION", 1, 1, types.NVarCharMax, evalObjectDefinition),
	session(ofObjects, "OBJECTPROPERTY", 2, 2, types.IntType, evalObjectProperty),
	session(ofObjects, "OBJECTPROPERTYEX", 2, 2, types.VariantType, evalObjectPropertyEx),
	session(ofObjects, "SCHEMA_ID", 0, 1, types.IntType, evalSchemaID),
	session(ofObjects, "SCHEMA_NAME", 0, 1, types.SysName, evalSchemaName),
	session(ofObjects, "COL_NAME", 2, 2, types.SysName, evalColName),
	session(ofObjects, "COL_LENGTH", 2, 2, types.SmallIntType, evalColLength),
	session(ofObjects, "COLUMNPROPERTY", 3, 3, types.IntType, evalColumnProperty),
	session(ofObjects, "INDEXPROPERTY", 3, 3, types.IntType, evalIndexProperty),
	session(ofObjects, "INDEX_COL", 3, 3, types.SysName, evalIndexCol),
	session(ofObjects, "TYPE_ID", 1, 1, types.IntType, evalTypeID),
	session(ofObjects, "TYPE_NAME", 1, 1, types.SysName, evalTypeName),
	session(ofObjects, "TYPEPROPERTY", 2, 2, types.IntType, evalTypeProperty),
	odbcScale,
}

// objectName splits a name of one to three parts; name is "" for NULL and malformed names.
func objectName(v types.Value, t types.Type) (database, schema, name string, err error) {
	if v == nil {
		return "", "", "", nil
	}
	s, err := convert.Text(v, t)
	if err != nil {
		return "", "", "", err
	}
	parts, ok := SplitName(types.TrimBlanks(s))
	if !ok || len(parts) > 3 {
		return "", "", "", nil
	}
	name = parts[len(parts)-1]
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		database = parts[0]
	}
	return database, schema, name, nil
}

func evalDBID(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if id, ok := objects.DatabaseByName(name); ok && (name != "" || len(args) == 0) {
		return int64(id), nil
	}
	return nil, nil
}

func evalDBName(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	id := 0
	if len(args) > 0 && args[0] != nil {
		n, err := convert.Integer(args[0], ts[0])
		if err != nil || n < 0 {
			return nil, err
		}
		id = n
	} else if len(args) > 0 {
		return nil, nil
	}
	return found(objects.DatabaseByID(id))
}

func evalDatabaseProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return property(objects.DatabaseProperty(a[0], a[1]))
}

// evalObjectID accepts an optional type such as U or P.
func evalObjectID(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	database, schema, name, err := objectName(args[0], ts[0])
	if err != nil || name == "" {
		return nil, err
	}
	kind, isNull, err := optionalName(ts, args, 1)
	if err != nil || isNull {
		return nil, err
	}
	o, ok := objects.ObjectByName(database, schema, name)
	if !ok || kind != "" && !strings.EqualFold(kind, o.Kind) {
		return nil, nil
	}
	return int64(o.ID), nil
}

// object finds an object by the id argument and an optional database id.
func object(objects Objects, ts []types.Type, args []types.Value) (Object, bool, error) {
	var n [2]int
	for i, a := range args {
		if a == nil {
			return Object{}, false, nil
		}
		if i < len(n) {
			v, err := convert.Integer(a, ts[i])
			if err != nil {
				return Object{}, false, err
			}
			n[i] = v
		}
	}
	o, ok := objects.ObjectByID(n[1], int32(n[0]))
	return o, ok, nil
}

func evalObjectName(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	o, ok, err := object(objects, ts, args)
	if err != nil || !ok {
		return nil, err
	}
	return o.Name, nil
}

func evalObjectSchema(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	o, ok, err := object(objects, ts, args)
	if err != nil || !ok {
		return nil, err
	}
	return o.Schema, nil
}

func evalObjectDefinition(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return found(objects.ObjectDefinition(int32(n)))
}

// kindFlags are the properties that depend on the object's type only.
var kindFlags = map[string][]string{
	"ISTABLE": {"U", "S", "IT", "TT"}, "ISUSERTABLE": {"U"}, "ISSYSTEMTABLE": {"S"}, "ISVIEW": {"V"}, "ISPROCEDURE": {"P"},
	"ISSCALARFUNCTION": {"FN"}, "ISINLINEFUNCTION": {"IF"}, "ISTABLEFUNCTION": {"IF", "TF"}, "ISTRIGGER": {"TR"},
	"ISPRIMARYKEY": {"PK"}, "ISUNIQUECNST": {"UQ"}, "ISFOREIGNKEY": {"F"}, "ISCHECKCNST": {"C"}, "ISDEFAULTCNST": {"D"},
	"ISCONSTRAINT": {"PK", "UQ", "F", "C", "D"}, "ISEXECUTED": {"P", "V", "FN", "IF", "TF", "TR"}, "ISDEFAULT": {},
	"ISRULE":     {},
	"ISREPLPROC": {}, "ISEXTENDEDPROC": {"X"}, "ISQUEUE": {},
}

// objectFlag implements OBJECTPROPERTY; ok is false for an unknown object or property.
func objectFlag(objects Objects, ts []types.Type, args []types.Value) (o Object, v int, ok bool, err error) {
	o, ok, err = object(objects, ts[:1], args[:1])
	if err != nil || !ok || args[1] == nil {
		return o, 0, false, err
	}
	name, err := convert.Text(args[1], ts[1])
	if err != nil {
		return o, 0, false, err
	}
	key := strings.ToUpper(types.TrimBlanks(name))
	if kinds, known := kindFlags[key]; known {
		for _, k := range kinds {
			if k == o.Kind {
				return o, 1, true, nil
			}
		}
		return o, 0, true, nil
	}
	switch key {
	case "SCHEMAID":
		return o, int(o.SchemaID), true, nil
	case "ISMSSHIPPED":
		return o, int(types.BitOf(o.ID < 0 && (o.SchemaID == 3 || o.SchemaID == 4))), true, nil // INFORMATION_SCHEMA, sys
	}
	v, ok = objects.ObjectFlag(o.ID, types.TrimBlanks(name))
	return o, v, ok, nil
}

func evalObjectProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	_, v, ok, err := objectFlag(objects, ts, args)
	if err != nil || !ok {
		return nil, err
	}
	return int64(v), nil
}

// evalObjectPropertyEx supports BaseType in addition to OBJECTPROPERTY.
func evalObjectPropertyEx(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	o, v, ok, err := objectFlag(objects, ts, args)
	if err != nil {
		return nil, err
	}
	if name, isText := args[1].(string); isText && o.ID != 0 && strings.EqualFold(types.TrimBlanks(name), "BaseType") {
		return types.VariantPack(types.Pad(o.Kind, 2), types.Type{ID: types.Char, Length: 2})
	}
	if !ok {
		return nil, nil
	}
	return types.VariantPack(int64(v), types.IntType)
}

func evalSchemaID(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, isNull, err := optionalName(ts, args, 0)
	if err != nil || isNull {
		return nil, err
	}
	if id, ok := objects.SchemaByName(name); ok && (name != "" || len(args) == 0) {
		return int64(id), nil
	}
	return nil, nil
}

func evalSchemaName(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if len(args) == 0 {
		return objects.DefaultSchema(), nil
	}
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return found(objects.SchemaByID(int32(n)))
}

func evalColName(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	n, err := ints(ts, args)
	if err != nil {
		return nil, err
	}
	for _, c := range objects.Columns(0, int32(n[0])) {
		if int(c.ID) == n[1] {
			return c.Name, nil
		}
	}
	return nil, nil
}

// columnOf finds a column by the names of its table and its own.
func columnOf(objects Objects, ts []types.Type, args []types.Value) (Column, bool, error) {
	database, schema, name, err := objectName(args[0], ts[0])
	if err != nil || name == "" || args[1] == nil {
		return Column{}, false, err
	}
	column, err := convert.Text(args[1], ts[1])
	if err != nil {
		return Column{}, false, err
	}
	o, ok := objects.ObjectByName(database, schema, name)
	if !ok {
		return Column{}, false, nil
	}
	id := 0
	if database != "" {
		id, _ = objects.DatabaseByName(database)
	}
	c, ok := columnNamed(objects.Columns(id, o.ID), column)
	return c, ok, nil
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

func evalColLength(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	c, ok, err := columnOf(objects, ts, args)
	if err != nil || !ok {
		return nil, err
	}
	return int64(c.Type.MaxLength()), nil
}

// evalColumnProperty supports the properties that columns and parameters have in this server.
func evalColumnProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	for _, a := range args {
		if a == nil {
			return nil, nil
		}
	}
	id, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	names, err := texts(ts[1:], args[1:])
	if err != nil {
		return nil, err
	}
	c, ok := columnNamed(objects.Columns(0, int32(id)), names[0])
	if !ok {
		return nil, nil
	}
	switch strings.ToUpper(names[1]) {
	case "ALLOWSNULL":
		return types.BitOf(c.Nullable), nil
	case "COLUMNID", "ORDINAL":
		return int64(c.ID), nil
	case "ISIDENTITY":
		return types.BitOf(c.Identity), nil
	case "ISCOMPUTED":
		return types.BitOf(c.Computed), nil
	case "ISOUTPARAM":
		return types.BitOf(c.Output), nil
	case "PRECISION":
		switch n := int64(c.Type.Length); {
		case n != 0:
			return n, nil
		}
		return int64(c.Type.SysPrecision()), nil
	case "SCALE":
		if c.Type.IsNumber() || c.Type.IsTemporal() {
			return int64(c.Type.SysScale()), nil
		}
		return nil, nil
	case "CHARMAXLEN":
		if c.Type.IsString() {
			return int64(c.Type.Length), nil
		}
		return nil, nil
	case "USESANSITRIM":
		if c.Type.IsString() || c.Type.IsBinary() {
			return int64(1), nil
		}
		return nil, nil
	case "ISROWGUIDCOL":
		return types.BitOf(c.RowGUID), nil
	case "ISSPARSE":
		return types.BitOf(c.Sparse), nil
	case "ISHIDDEN", "ISCOLUMNSET", "ISFULLTEXTINDEXED", "ISIDNOTFORREPL", "ISXMLINDEXABLE", "ISCURSORTYPE",
		"GENERATEDALWAYSTYPE", "STATISTICALSEMANTICS",
		"FULLTEXTTYPECOLUMN", "SYSTEMDATAACCESS", "USERDATAACCESS", "ISSYSTEMVERIFIED":
		return int64(0), nil
	case "ISINDEXABLE":
		return types.BitOf(c.Type.Comparable()), nil
	case "ISDETERMINISTIC", "ISPRECISE":
		if !c.Computed {
			return nil, nil
		}
		return types.BitOf(c.Deterministic), nil
	}
	return nil, nil
}

func evalIndexProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	id, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	names, err := texts(ts[1:], args[1:])
	if err != nil || names == nil {
		return nil, err
	}
	return objects.IndexProperty(int32(id), names[0], names[1]), nil
}

func evalIndexCol(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	database, schema, name, err := objectName(args[0], ts[0])
	if err != nil || name == "" || args[1] == nil || args[2] == nil {
		return nil, err
	}
	n, err := ints(ts[1:], args[1:])
	if err != nil {
		return nil, err
	}
	o, ok := objects.ObjectByName(database, schema, name)
	if !ok {
		return nil, nil
	}
	k, ok := objects.IndexColumn(o.ID, n[0], n[1])
	return found(k.Name, ok)
}

func evalTypeID(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	_, schema, name, err := objectName(args[0], ts[0])
	if err != nil || name == "" {
		return nil, err
	}
	if id, _, ok := typeNamed(objects, schema, name); ok {
		return int64(id), nil
	}
	return nil, nil
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

func evalTypeName(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	if n == sysNameID {
		return "sysname", nil
	}
	for _, t := range types.ByID() {
		if t.UserTypeID() == n {
			return t.Name(), nil
		}
	}
	return found(objects.TypeByID(int32(n)))
}

func evalTypeProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	_, schema, name, err := objectName(args[0], ts[0])
	if err != nil || name == "" || args[1] == nil {
		return nil, err
	}
	id, t, ok := typeNamed(objects, schema, name)
	if !ok {
		return nil, nil
	}
	what, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	switch strings.ToUpper(types.TrimBlanks(what)) {
	case "ALLOWSNULL":
		return types.BitOf(id != sysNameID && (int(id) == t.UserTypeID() || objects.TypeAllowsNull(id))), nil
	case "OWNERID":
		if int(id) == t.UserTypeID() || id == sysNameID {
			return int64(4), nil // sys
		}
		return int64(1), nil // dbo: types have no owners of their own in this server
	case "PRECISION":
		if t.IsString() || t.IsBinary() {
			return int64(t.Length), nil
		}
		return int64(t.SysPrecision()), nil
	case "SCALE":
		if t.IsNumber() || t.IsTemporal() {
			return int64(t.SysScale()), nil
		}
	case "USESANSITRIM":
		if t.IsString() || t.IsBinary() {
			return int64(1), nil
		}
	}
	return nil, nil
}
