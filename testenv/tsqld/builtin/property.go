package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// propertyFuncs return properties of logins, collations and files, and of features that the server
// does not have ("Metadata functions", "Security functions", "Cryptographic functions
// (Transact-SQL)").
var propertyFuncs = []*Func{
	session(ofSecurity, "LOGINPROPERTY", 2, 2, types.VariantType, evalLoginProperty),
	pure("COLLATIONPROPERTY", 2, 2, fixed(types.VariantType), evalCollationProperty),
	session(ofNothing, "FULLTEXTSERVICEPROPERTY", 1, 1, types.IntType, evalFullTextService),
	session(ofObjects, "INDEXKEY_PROPERTY", 4, 4, types.IntType, evalIndexKeyProperty),
	session(ofObjects, "DATABASEPROPERTY", 2, 2, types.IntType, evalOldDatabaseProperty),
	session(ofObjects, "FILE_ID", 1, 1, types.SmallIntType, evalFileID),
	session(ofObjects, "FILE_IDEX", 1, 1, types.IntType, evalFileID),
	session(ofObjects, "FILE_NAME", 1, 1, types.SysName, evalFileName),
	session(ofObjects, "FILEPROPERTY", 2, 2, types.IntType, evalFileProperty),
	session(ofNothing, "FILEGROUP_ID", 1, 1, types.IntType, evalFileGroupID),
	session(ofNothing, "FILEGROUP_NAME", 1, 1, types.SysName, evalFileGroupName),
	session(ofObjects, "FILEGROUPPROPERTY", 2, 2, types.IntType, evalFileGroupProperty),
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
	session(ofNothing, "FN_SYSPOLICY_IS_AUTOMATION_ENABLED", 0, 0, types.BitType, func(struct{}, []types.Type, types.Type, []types.Value) (types.Value, error) { return int64(0), nil }),
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

func evalLoginProperty(security Security, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	return property(security.LoginProperty(a[0], a[1]))
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
func evalFullTextService(_ struct{}, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	switch strings.ToLower(a[0]) {
	case "isfulltextinstalled", "resourceusage", "connecttimeout", "datatimeout", "loadosresources":
		return int64(0), nil
	case "verifysignature":
		return int64(1), nil
	}
	return nil, nil
}

func evalIndexKeyProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	for _, a := range args {
		if a == nil {
			return nil, nil
		}
	}
	n, err := ints(ts[:3], args[:3])
	if err != nil {
		return nil, err
	}
	what, err := convert.Text(args[3], ts[3])
	if err != nil {
		return nil, err
	}
	k, ok := objects.IndexColumn(int32(n[0]), n[1], n[2])
	if !ok {
		return nil, nil
	}
	switch strings.ToLower(types.TrimBlanks(what)) {
	case "columnid":
		return int64(k.ID), nil
	case "isdescending":
		return types.BitOf(k.Descending), nil
	}
	return nil, nil
}

// evalOldDatabaseProperty implements DATABASEPROPERTY with the numbers of DATABASEPROPERTYEX.
func evalOldDatabaseProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil {
		return nil, err
	}
	var is string
	switch strings.ToLower(a[1]) {
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
		v, _, known := objects.DatabaseProperty(a[0], what)
		if !known {
			return nil, nil
		}
		return types.BitOf(v == want), nil
	}
	v, t, ok := objects.DatabaseProperty(a[0], a[1])
	if !ok || !t.IsInteger() {
		return nil, nil
	}
	return v, nil
}

// primaryGroup is the only filegroup of a database.
const primaryGroup = "PRIMARY"

// file finds a file of the current database by its name, the first argument.
func file(objects Objects, ts []types.Type, args []types.Value) (File, bool, error) {
	if args[0] == nil {
		return File{}, false, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return File{}, false, err
	}
	for _, f := range objects.Files() {
		if types.Equal(f.Name, types.TrimBlanks(name), types.CI) {
			return f, true, nil
		}
	}
	return File{}, false, nil
}

func evalFileID(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	f, ok, err := file(objects, ts, args)
	if err != nil || !ok {
		return nil, err
	}
	return int64(f.ID), nil
}

func evalFileName(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	for _, f := range objects.Files() {
		if f.ID == n {
			return f.Name, nil
		}
	}
	return nil, nil
}

func evalFileProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	f, ok, err := file(objects, ts, args)
	if err != nil || !ok || args[1] == nil {
		return nil, err
	}
	what, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(types.TrimBlanks(what)) {
	case "isreadonly":
		return types.BitOf(f.ReadOnly), nil
	case "isprimaryfile":
		return types.BitOf(!f.Log), nil
	case "islogfile":
		return types.BitOf(f.Log), nil
	case "spaceused":
		return f.Pages, nil
	}
	return nil, nil
}

func evalFileGroupID(_ struct{}, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil || !strings.EqualFold(a[0], primaryGroup) {
		return nil, err
	}
	return int64(1), nil
}

func evalFileGroupName(_ struct{}, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil || n != 1 {
		return nil, err
	}
	return primaryGroup, nil
}

func evalFileGroupProperty(objects Objects, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := texts(ts, args)
	if err != nil || a == nil || !strings.EqualFold(a[0], primaryGroup) {
		return nil, err
	}
	switch strings.ToLower(a[1]) {
	case "isreadonly":
		return types.BitOf(objects.Files()[0].ReadOnly), nil
	case "isuserdefinedfg":
		return int64(0), nil
	case "isdefault":
		return int64(1), nil
	}
	return nil, nil
}
