package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// propertyFuncs return properties of logins, collations and files, and of features that the server
// does not have ("Metadata functions", "Security functions", "Cryptographic functions
// (Transact-SQL)").
var propertyFuncs = []*Func{
	of2(ofSecurity, "LOGINPROPERTY", types.VariantType, aText, aText, evalLoginProperty),
	pure("COLLATIONPROPERTY", 2, 2, fixed(types.VariantType), evalCollationProperty),
	of1(ofNothing, "FULLTEXTSERVICEPROPERTY", types.IntType, aText, evalFullTextService),
	session(ofObjects, "INDEXKEY_PROPERTY", 4, 4, types.IntType, evalIndexKeyProperty),
	of2(ofObjects, "DATABASEPROPERTY", types.IntType, aText, aText, evalOldDatabaseProperty),
	of1(ofObjects, "FILE_ID", types.SmallIntType, aText, evalFileID),
	of1(ofObjects, "FILE_IDEX", types.IntType, aText, evalFileID),
	of1(ofObjects, "FILE_NAME", types.SysName, anInt, evalFileName),
	of2(ofObjects, "FILEPROPERTY", types.IntType, aText, aText, evalFileProperty),
	of1(ofNothing, "FILEGROUP_ID", types.IntType, aText, evalFileGroupID),
	of1(ofNothing, "FILEGROUP_NAME", types.SysName, anInt, evalFileGroupName),
	of2(ofObjects, "FILEGROUPPROPERTY", types.IntType, aText, aText, evalFileGroupProperty),
	// The objects of these functions do not exist in this server, so they return NULL for every
	// name. Statistics have no date, as in SQL Server before their first update.
	absent("STATS_DATE", 2, types.DateTimeType),
	absent("FULLTEXTCATALOGPROPERTY", 2, types.IntType),
	absent("ASSEMBLYPROPERTY", 2, types.VariantType),
	absent("CERT_ID", 1, types.IntType),
	absent("CERTPROPERTY", 2, types.VariantType),
	absent("ASYMKEY_ID", 1, types.IntType),
	absent("ASYMKEYPROPERTY", 2, types.VariantType),
	absent("KEY_ID", 1, types.IntType),
	absent("KEY_NAME", 1, types.SysName),
	absent("KEY_GUID", 1, types.Type{ID: types.UniqueIdentifier}),
	absent("SYMKEYPROPERTY", 2, types.VariantType),
	{Name: "XML_SCHEMA_NAMESPACE", MinArgs: 2, MaxArgs: 3, Volatility: Session, Result: fixed(types.Type{ID: types.XML}),
		Eval: func(Env, []types.Type, types.Type, []types.Value) (types.Value, error) {
			return nil, mserr.NotSupported("XML_SCHEMA_NAMESPACE")
		}},
	// Functions of the schema sys with fn_ in their names must be called with the schema.
	pure("FN_VARBINTOHEXSTR", 1, 1, fixed(types.NVarCharMax), func(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		return hexText(ts[0], args[0], true, 1, 0)
	}),
	pure("FN_VARBINTOHEXSUBSTRING", 4, 4, fixed(types.NVarCharMax), func(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		n, err := ints([]types.Type{ts[0], ts[2], ts[3]}, []types.Value{args[0], args[2], args[3]})
		if err != nil {
			return nil, err
		}
		return hexText(ts[1], args[1], n[0] != 0, n[1], n[2])
	}),
	of0(ofNothing, "FN_SYSPOLICY_IS_AUTOMATION_ENABLED", types.BitType, func(struct{}) (types.Value, error) { return int64(0), nil }),
}

// absent makes a function that returns NULL for all arguments.
func absent(name string, args int, result types.Type) *Func {
	return session(ofNothing, name, args, args, result, evalNothing)
}

func evalNothing(struct{}, []types.Type, types.Type, []types.Value) (types.Value, error) {
	return nil, nil
}

// hexText prints bytes as hexadecimal digits, from byte start (from 1); length 0 is the rest.
func hexText(t types.Type, v types.Value, prefix bool, start, length int) (types.Value, error) {
	v, err := types.Convert(v, t, types.VarBinaryOf(types.Max), 0)
	if err != nil {
		return nil, err
	}
	b := v.([]byte)
	start = min(max(start, 1), len(b)+1)
	b = b[start-1:]
	if length > 0 && length < len(b) {
		b = b[:length]
	}
	const digits = "0123456789abcdef"
	var w strings.Builder
	if prefix {
		w.WriteString("0x")
	}
	for _, c := range b {
		w.WriteByte(digits[c>>4])
		w.WriteByte(digits[c&15])
	}
	return w.String(), nil
}

func evalLoginProperty(security Security, login, name string) (types.Value, error) {
	return property(security.LoginProperty(login, name))
}

func evalCollationProperty(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	c, ok := types.CollationByName(a[0])
	if !ok || strings.HasSuffix(strings.ToUpper(a[0]), "_DEFAULT") {
		return nil, nil
	}
	n := 0
	switch strings.ToLower(a[1]) {
	case "codepage":
		n = c.CodePage()
	case "lcid":
		n = c.LCID()
	case "comparisonstyle":
		n = c.ComparisonStyle()
	case "version":
		return types.VariantPack(int64(c.Version()), types.TinyIntType)
	case "collationid":
		n = int(int32(c.Wire()))
	case "name":
		return types.VariantPack(c.String(), types.SysName)
	default:
		return nil, nil
	}
	return types.VariantPack(int64(n), types.IntType)
}

// evalFullTextService returns the properties of a server without full-text search.
func evalFullTextService(_ struct{}, name string) (types.Value, error) {
	switch strings.ToLower(name) {
	case "isfulltextinstalled", "resourceusage", "connecttimeout", "datatimeout", "loadosresources":
		return int64(0), nil
	case "verifysignature":
		return int64(1), nil
	}
	return nil, nil
}

func evalIndexKeyProperty(objects Objects, ts []types.Type, _ types.Type, vs []types.Value) (types.Value, error) {
	args := arguments{types: ts, values: vs}
	table, index, column, what := read(&args, 0, anID), read(&args, 1, anInt), read(&args, 2, anInt), read(&args, 3, aText)
	if args.isNull || args.err != nil {
		return nil, args.err
	}
	k, ok := objects.IndexColumn(table, index, column)
	switch strings.ToLower(what) {
	case "columnid":
		return foundID(k.ID, ok)
	case "isdescending":
		return answer(k.Descending, ok)
	}
	return nil, nil
}

// evalOldDatabaseProperty implements DATABASEPROPERTY with the numbers of DATABASEPROPERTYEX.
func evalOldDatabaseProperty(objects Objects, database, name string) (types.Value, error) {
	var is string
	switch strings.ToLower(name) {
	case "isoffline":
		is = "Status=OFFLINE"
	case "isreadonly":
		is = "Updateability=READ_ONLY"
	case "issingleuser":
		is = "UserAccess=SINGLE_USER"
	case "isdboonly":
		is = "UserAccess=RESTRICTED_USER"
	case "isbulkcopy":
		is = "Recovery=BULK_LOGGED"
	case "istrunclog":
		is = "Recovery=SIMPLE"
	case "isinload", "isinrecovery", "isnotrecovered", "issuspect", "isemergencymode", "isshutdown":
		is = "Status=" // a state that databases of this server never have
	}
	if what, want, ok := strings.Cut(is, "="); ok {
		v, _, known := objects.DatabaseProperty(database, what)
		return answer(v == want, known)
	}
	v, t, ok := objects.DatabaseProperty(database, name)
	if !ok || !t.IsInteger() {
		return nil, nil
	}
	return v, nil
}

// primaryGroup is the only filegroup of a database.
const primaryGroup = "PRIMARY"

// file finds a file of the current database by its name.
func file(objects Objects, name string) (File, bool) {
	for _, f := range objects.Files() {
		if types.Equal(f.Name, name, types.CI) {
			return f, true
		}
	}
	return File{}, false
}

func evalFileID(objects Objects, name string) (types.Value, error) {
	f, ok := file(objects, name)
	return foundID(f.ID, ok)
}

func evalFileName(objects Objects, id int) (types.Value, error) {
	for _, f := range objects.Files() {
		if f.ID == id {
			return f.Name, nil
		}
	}
	return nil, nil
}

func evalFileProperty(objects Objects, name, what string) (types.Value, error) {
	f, ok := file(objects, name)
	switch strings.ToLower(what) {
	case "isreadonly":
		return answer(f.ReadOnly, ok)
	case "isprimaryfile":
		return answer(!f.Log, ok)
	case "islogfile":
		return answer(f.Log, ok)
	case "spaceused":
		return foundID(f.Pages, ok)
	}
	return nil, nil
}

func evalFileGroupID(_ struct{}, name string) (types.Value, error) {
	return foundID(1, strings.EqualFold(name, primaryGroup))
}

func evalFileGroupName(_ struct{}, id int) (types.Value, error) { return found(primaryGroup, id == 1) }

func evalFileGroupProperty(objects Objects, name, what string) (types.Value, error) {
	ok := strings.EqualFold(name, primaryGroup)
	switch strings.ToLower(what) {
	case "isreadonly":
		return answer(objects.Files()[0].ReadOnly, ok)
	case "isuserdefinedfg":
		return foundID(0, ok)
	case "isdefault":
		return foundID(1, ok)
	}
	return nil, nil
}
