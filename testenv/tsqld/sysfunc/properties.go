package sysfunc

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// DatabaseProperty implements [builtin.Objects].
func (e Objects) DatabaseProperty(database, property string) (types.Value, types.Type, bool) {
	d := e.s.DatabaseByName(database)
	if d == nil {
		return nil, types.NullType, false
	}
	c := d.Collation()
	other := d.Options.Other
	property = strings.ToLower(property)
	text := map[string]string{
		"collation": d.Options.Collation, "recovery": d.Recovery(), "edition": "Standard",
		"status":           either(d.Options.Offline, "OFFLINE", "ONLINE"),
		"updateability":    either(d.Options.ReadOnly, "READ_ONLY", "READ_WRITE"),
		"useraccess":       either(d.Options.SingleUser, "SINGLE_USER", either(d.Options.RestrictedUser, "RESTRICTED_USER", "MULTI_USER")),
		"serviceobjective": either(d.Options.ElasticPool != "", "ElasticPool", "S0"),
	}
	flags := map[string]bool{
		"isansinullsenabled": d.Options.AnsiNulls, "isrecursivetriggersenabled": d.Options.RecursiveTriggers,
		"istornpagedetectionenabled": other["PAGE_VERIFY"] == "TORN_PAGE_DETECTION",
		"isparameterizationforced":   other["PARAMETERIZATION"] == "FORCED",
		"islocalcursorsdefault":      other["CURSOR_DEFAULT"] == "LOCAL",
	}
	if v, ok := text[property]; ok {
		return v, types.SysNameType, true
	}
	if v, ok := flags[property]; ok {
		return types.BitOf(v), types.IntType, true
	}
	if option, ok := optionProperties[property]; ok {
		return types.BitOf(d.On(option)), types.IntType, true
	}
	switch property {
	case "maxsizeinbytes": // for elastic pools and single databases in Azure
		return nil, types.BigIntType, true
	case "lastgoodcheckdbtime": // never
		return int64(types.Days(1900, 1, 1)) * types.TicksPerDay, types.DateTimeType, true
	case "version":
		return int64(904), types.IntType, true
	case "sqlsortorder":
		return int64(c.SortID()), types.TinyIntType, true
	case "lcid":
		return int64(c.LCID()), types.IntType, true
	case "comparisonstyle":
		return int64(c.ComparisonStyle()), types.IntType, true
	case "isinstandby", "isfulltextenabled", "ismergepublished", "ispublished", "issubscribed", "issyncwithbackup",
		"isverifiedclone", "isxtpsupported", "isdatabasesuspendedforsnapshotbackup":
		return int64(0), types.IntType, true
	}
	return nil, types.NullType, false
}

// either returns yes or no by a condition.
func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// optionProperties maps properties of DATABASEPROPERTYEX to ON/OFF options.
var optionProperties = map[string]string{
	"isautocreatestatistics":                    "AUTO_CREATE_STATISTICS",
	"isautocreatestatisticsincremental":         "AUTO_CREATE_STATISTICS_INCREMENTAL",
	"isautoupdatestatistics":                    "AUTO_UPDATE_STATISTICS",
	"isautoclose":                               "AUTO_CLOSE",
	"isautoshrink":                              "AUTO_SHRINK",
	"isansinulldefault":                         "ANSI_NULL_DEFAULT",
	"isansipaddingenabled":                      "ANSI_PADDING",
	"isansiwarningsenabled":                     "ANSI_WARNINGS",
	"isarithmeticabortenabled":                  "ARITHABORT",
	"isclosecursorsoncommitenabled":             "CURSOR_CLOSE_ON_COMMIT",
	"isnullconcat":                              "CONCAT_NULL_YIELDS_NULL",
	"isnumericroundabortenabled":                "NUMERIC_ROUNDABORT",
	"isquotedidentifiersenabled":                "QUOTED_IDENTIFIER",
	"ismemoryoptimizedelevatetosnapshotenabled": "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT",
}

// IndexProperty implements [builtin.Objects].
func (e Objects) IndexProperty(object int32, index, property string) types.Value {
	t := e.table(object)
	if t == nil {
		return nil
	}
	ix := t.Index(index)
	if ix == nil {
		return nil
	}
	return map[string]types.Value{
		"indexid": int64(ix.ID), "isunique": types.BitOf(ix.Unique), "isclustered": types.BitOf(ix.Clustered),
		"isdisabled": types.BitOf(ix.Disabled), "indexdepth": int64(1), "indexfillfactor": int64(ix.FillFactor),
		"ispadindex": types.BitOf(ix.Padded), "isrowlockdisallowed": types.BitOf(ix.NoRowLocks),
		"ispagelockdisallowed": types.BitOf(ix.NoPageLocks), "isoptimizedforsequentialkey": types.BitOf(ix.Sequential),
		"isautostatistics": int64(0), "isfulltextkey": int64(0), "ishypothetical": int64(0), "isstatistics": int64(0),
		"iscolumnstore": int64(0),
	}[strings.ToLower(property)]
}

// ObjectFlag implements [builtin.Objects].
func (e Objects) ObjectFlag(id int32, property string) (int, bool) {
	property = strings.ToLower(property)
	d := e.db(0)
	if d == nil {
		return 0, false
	}
	o := d.ObjectByID(id)
	if property == "ownerid" {
		switch c, ok := d.ConstraintByID(id); {
		case o != nil:
			return d.Owner(o), true
		case ok:
			return d.Owner(d.ObjectByID(c.Table)), true
		}
		return 0, false
	}
	if c, ok := d.ConstraintByID(id); ok {
		return constraintFlag(d, c, property)
	}
	if m := catalog.ModuleOf(o); m != nil {
		return moduleFlag(m, o.Head().Kind, property)
	}
	if t := e.table(id); t != nil {
		return tableFlag(d, t, property)
	}
	return 0, false
}

// moduleFlag returns the properties of OBJECTPROPERTY for views, procedures and functions.
func moduleFlag(m *catalog.Module, kind catalog.Kind, property string) (int, bool) {
	switch property {
	case "isindexed", "isindexable", "hasinserttrigger", "hasupdatetrigger", "hasdeletetrigger", "hasaftertrigger",
		"hasinsteadoftrigger":
		return 0, kind == catalog.KindView
	case "execisstartup", "execiswithnativecompilation":
		return 0, kind == catalog.KindProcedure
	case "isprecise":
		return 0, kind != catalog.KindProcedure
	case "userdataaccess":
		return 1, kind != catalog.KindProcedure
	}
	return oneOf(map[string]bool{
		"execisquotedidenton": m.QuotedIdentifier, "isquotedidenton": m.QuotedIdentifier,
		"execisansinullson": m.AnsiNulls, "isansinullson": m.AnsiNulls, "isschemabound": m.SchemaBound, "isencrypted": m.Encrypted,
		"issystemverified": false, "systemdataaccess": false, "isdeterministic": false,
	}, property)
}

// tableFlag returns the properties of OBJECTPROPERTY for tables.
func tableFlag(d *catalog.Database, t *catalog.Table, property string) (int, bool) {
	clustered, nonclustered, unique := false, false, false
	for _, ix := range t.Indexes {
		clustered = clustered || ix.Clustered
		nonclustered = nonclustered || !ix.Clustered
		unique = unique || ix.Key != nil && !ix.Key.Primary
	}
	column := func(is func(c *catalog.Column) bool) bool { return slices.ContainsFunc(t.Columns, is) }
	flags := map[string]bool{
		"tablehasidentity": t.IdentityColumn() != nil, "tablehasprimarykey": t.PrimaryKey() != nil,
		"tablehasforeignkey": len(t.ForeignKeys) > 0, "tablehascheckcnst": len(t.Checks) > 0,
		"tablehasdefaultcnst": column(func(c *catalog.Column) bool { return c.Default != nil }),
		"tablehasrowguidcol":  column(func(c *catalog.Column) bool { return c.RowGUID }),
		"tablehastextimage": column(func(c *catalog.Column) bool {
			return c.Type.ID == types.Text || c.Type.ID == types.NText || c.Type.ID == types.Image
		}),
		"tablehasclustindex": clustered, "tablehasnonclustindex": nonclustered, "tablehasuniquecnst": unique,
		"tablehasindex": clustered || nonclustered, "isindexed": clustered || nonclustered,
		"isindexable": true, "tablehastimestamp": t.RowVersionColumn() != nil,
		"hasaftertrigger":     slices.ContainsFunc(t.Triggers, func(tr *catalog.Trigger) bool { return !tr.InsteadOf }),
		"hasinsteadoftrigger": slices.ContainsFunc(t.Triggers, func(tr *catalog.Trigger) bool { return tr.InsteadOf }),
		"isansinullson":       true, "isquotedidenton": true, "issystemverified": false,
	}
	for _, verb := range []string{"insert", "update", "delete"} {
		list := triggersOn(t, verb)
		flags["tablehas"+verb+"trigger"], flags["has"+verb+"trigger"] = len(list) > 0, len(list) > 0
		switch {
		case property == "table"+verb+"triggercount":
			return len(list), true
		case property == "table"+verb+"trigger" && len(list) > 0:
			return int(list[0].ObjectID), true
		case property == "table"+verb+"trigger":
			return 0, true
		}
	}
	switch property {
	case "tablehasforeignref":
		return intFlag(slices.ContainsFunc(d.Tables(), func(o *catalog.Table) bool {
			return slices.ContainsFunc(o.ForeignKeys, func(f *catalog.ForeignKey) bool { return f.Referenced == t.ObjectID })
		}))
	case "tablehascolumnset", "tabletemporaltype", "tableisfake", "tableismemoryoptimized",
		"tablehasactivefulltextindex", "tablefulltextcatalogid", "tablefulltextkeycolumn",
		"tablefulltextpopulatestatus", "tablefulltextpendingchanges", "tablefulltextdocsprocessed",
		"tablefulltextfailcount", "tablefulltextitemcount",
		"tablefulltextbackgroundupdateindexon", "tablefulltextchangetrackingon", "tablefulltextmergestatus",
		"tablehasvardecimalstorageformat", "tableislockedonbulkload",
		"tableispinned", "tabletextinrowlimit":
		return 0, true
	}
	return oneOf(flags, property)
}

// oneOf returns the property with a name; ok is false for an unknown one.
func oneOf(flags map[string]bool, property string) (v int, ok bool) {
	is, ok := flags[property]
	return int(types.BitOf(is)), ok
}

// intFlag returns a bool as the value of a known property.
func intFlag(b bool) (int, bool) { return int(types.BitOf(b)), true }

// triggersOn returns the triggers of a table for insert, update or delete.
func triggersOn(t *catalog.Table, verb string) []*catalog.Trigger {
	var out []*catalog.Trigger
	for _, tr := range t.Triggers {
		if slices.Contains(tr.Events, strings.ToUpper(verb)) {
			out = append(out, tr)
		}
	}
	return out
}

// constraintFlag returns the properties of OBJECTPROPERTY for constraints and triggers.
func constraintFlag(d *catalog.Database, c catalog.Constraint, property string) (int, bool) {
	for _, tr := range catalog.Triggers(d.ObjectByID(c.Table)) {
		if tr.ObjectID != c.ObjectID {
			continue
		}
		flags := map[string]bool{
			"execisaftertrigger": !tr.InsteadOf, "execisinsteadoftrigger": tr.InsteadOf, "execistriggerdisabled": tr.Disabled,
			"execisansinullson": !tr.AnsiNullsOff, "isansinullson": !tr.AnsiNullsOff,
			"execisquotedidenton": !tr.QuotedOff, "isquotedidenton": !tr.QuotedOff,
			"execistriggernotforrepl": tr.NotReplicated, "isencrypted": tr.Encrypted, "isschemabound": false,
			"execiswithnativecompilation": false, "isdeterministic": false, "issystemverified": false,
		}
		for _, event := range catalog.TriggerEvents {
			verb := strings.ToLower(event) + "trigger"
			flags["execis"+verb] = slices.Contains(tr.Events, event)
			flags["execisfirst"+verb], flags["execislast"+verb] = slices.Contains(tr.First, event), slices.Contains(tr.Last, event)
		}
		return oneOf(flags, property)
	}
	t := d.TableByID(c.Table)
	var disabled, notTrusted, column, cascadeDelete, cascadeUpdate, clustered, nonclustered bool
	for _, f := range t.ForeignKeys {
		if f.ObjectID == c.ObjectID {
			disabled, notTrusted, column = f.Disabled, f.NotTrusted || f.Disabled, len(f.Columns) == 1
			cascadeDelete, cascadeUpdate = f.OnDelete == catalog.Cascade, f.OnUpdate == catalog.Cascade
		}
	}
	for _, k := range t.Checks {
		if k.ObjectID == c.ObjectID {
			disabled, notTrusted, column = k.Disabled, k.NotTrusted, k.ColumnID != 0
		}
	}
	for _, ix := range t.Indexes {
		if ix.Key != nil && ix.Key.ObjectID == c.ObjectID {
			clustered, nonclustered, column = ix.Clustered, !ix.Clustered, len(ix.Columns) == 1
		}
	}
	if property == "isansinullson" || property == "isquotedidenton" {
		return 1, c.Kind == catalog.KindCheck || c.Kind == catalog.KindDefault
	}
	return oneOf(map[string]bool{
		"cnstisdisabled": disabled, "cnstisnottrusted": notTrusted, "cnstiscolumn": column || c.Kind == catalog.KindDefault,
		"cnstisclustkey": clustered, "cnstisnonclustkey": nonclustered, "cnstisdeletecascade": cascadeDelete,
		"cnstisupdatecascade": cascadeUpdate, "cnstisnotrepl": false, "issystemverified": false,
	}, property)
}
