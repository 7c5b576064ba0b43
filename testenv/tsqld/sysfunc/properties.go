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
	text := func(s string) (types.Value, types.Type, bool) { return s, types.SysNameType, true }
	flag := func(b bool) (types.Value, types.Type, bool) { return types.BitOf(b), types.IntType, true }
	switch strings.ToLower(property) {
	case "collation":
		return text(d.Options.Collation)
	case "status":
		if d.Options.Offline {
			return text("OFFLINE")
		}
		return text("ONLINE")
	case "updateability":
		if d.Options.ReadOnly {
			return text("READ_ONLY")
		}
		return text("READ_WRITE")
	case "useraccess":
		if d.Options.SingleUser {
			return text("SINGLE_USER")
		}
		if d.Options.RestrictedUser {
			return text("RESTRICTED_USER")
		}
		return text("MULTI_USER")
	case "recovery":
		return text(d.Recovery())
	case "maxsizeinbytes": // for elastic pools and single databases in Azure
		return nil, types.BigIntType, true
	case "lastgoodcheckdbtime": // never
		return int64(types.Days(1900, 1, 1)) * types.TicksPerDay, types.DateTimeType, true
	case "isdatabasesuspendedforsnapshotbackup":
		return flag(false)
	case "edition":
		return text("Standard")
	case "serviceobjective":
		if d.Options.ElasticPool != "" {
			return text("ElasticPool")
		}
		return text("S0")
	case "version":
		return int64(904), types.IntType, true
	case "sqlsortorder":
		c, _ := types.CollationByName(d.Options.Collation)
		return int64(c.SortID()), types.TinyIntType, true
	case "lcid":
		c, _ := types.CollationByName(d.Options.Collation)
		return int64(c.LCID()), types.IntType, true
	case "comparisonstyle":
		c, _ := types.CollationByName(d.Options.Collation)
		return int64(c.ComparisonStyle()), types.IntType, true
	case "isansinullsenabled":
		return flag(d.Options.AnsiNulls)
	case "isrecursivetriggersenabled":
		return flag(d.Options.RecursiveTriggers)
	case "istornpagedetectionenabled":
		return flag(d.Options.Other["PAGE_VERIFY"] == "TORN_PAGE_DETECTION")
	case "isparameterizationforced":
		return flag(d.Options.Other["PARAMETERIZATION"] == "FORCED")
	case "islocalcursorsdefault":
		return flag(d.Options.Other["CURSOR_DEFAULT"] == "LOCAL")
	case "isinstandby", "isfulltextenabled", "ismergepublished", "ispublished", "issubscribed", "issyncwithbackup",
		"isverifiedclone", "isxtpsupported":
		return flag(false)
	}
	if option, ok := optionProperties[strings.ToLower(property)]; ok {
		return flag(d.On(option))
	}
	return nil, types.NullType, false
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
	switch strings.ToLower(property) {
	case "indexid":
		return int64(ix.ID)
	case "isunique":
		return types.BitOf(ix.Unique)
	case "isclustered":
		return types.BitOf(ix.Clustered)
	case "isdisabled":
		return types.BitOf(ix.Disabled)
	case "indexdepth":
		return int64(1)
	case "indexfillfactor":
		return int64(ix.FillFactor)
	case "ispadindex":
		return types.BitOf(ix.Padded)
	case "isrowlockdisallowed":
		return types.BitOf(ix.NoRowLocks)
	case "ispagelockdisallowed":
		return types.BitOf(ix.NoPageLocks)
	case "isoptimizedforsequentialkey":
		return types.BitOf(ix.Sequential)
	case "isautostatistics", "isfulltextkey", "ishypothetical", "isstatistics", "iscolumnstore":
		return int64(0)
	}
	return nil
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
	case "issystemverified", "systemdataaccess":
		return 0, true
	case "isprecise":
		return 0, kind != catalog.KindProcedure
	case "userdataaccess":
		return 1, kind != catalog.KindProcedure
	case "execisquotedidenton", "isquotedidenton":
		return intFlag(m.QuotedIdentifier)
	case "execisansinullson", "isansinullson":
		return intFlag(m.AnsiNulls)
	case "isschemabound":
		return intFlag(m.SchemaBound)
	case "isencrypted":
		return intFlag(m.Encrypted)
	case "isdeterministic":
		return 0, true
	}
	return 0, false
}

// tableFlag returns the properties of OBJECTPROPERTY for tables.
func tableFlag(d *catalog.Database, t *catalog.Table, property string) (int, bool) {
	clustered, nonclustered, unique := false, false, false
	for _, ix := range t.Indexes {
		clustered = clustered || ix.Clustered
		nonclustered = nonclustered || !ix.Clustered
		unique = unique || ix.Key != nil && !ix.Key.Primary
	}
	switch property {
	case "tablehasidentity":
		return intFlag(t.IdentityColumn() != nil)
	case "tablehasprimarykey":
		return intFlag(t.PrimaryKey() != nil)
	case "tablehasforeignkey":
		return intFlag(len(t.ForeignKeys) > 0)
	case "tablehascheckcnst":
		return intFlag(len(t.Checks) > 0)
	case "tablehasdefaultcnst":
		return intFlag(slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.Default != nil }))
	case "tablehasclustindex":
		return intFlag(clustered)
	case "tablehasnonclustindex":
		return intFlag(nonclustered)
	case "tablehasindex", "isindexed":
		return intFlag(clustered || nonclustered)
	case "isindexable":
		return 1, true
	case "hasaftertrigger":
		return intFlag(slices.ContainsFunc(t.Triggers, func(tr *catalog.Trigger) bool { return !tr.InsteadOf }))
	case "hasinsteadoftrigger":
		return intFlag(slices.ContainsFunc(t.Triggers, func(tr *catalog.Trigger) bool { return tr.InsteadOf }))
	case "tablehasuniquecnst":
		return intFlag(unique)
	case "tablehastimestamp":
		return intFlag(t.RowVersionColumn() != nil)
	case "tablehasrowguidcol":
		return intFlag(slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.RowGUID }))
	case "tablehasinserttrigger", "tablehasupdatetrigger", "tablehasdeletetrigger", "hasinserttrigger",
		"hasupdatetrigger", "hasdeletetrigger":
		return intFlag(len(triggersOn(t,
			strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(property, "table"), "has"), "trigger"))) > 0)
	case "tableinserttriggercount", "tableupdatetriggercount", "tabledeletetriggercount":
		return len(triggersOn(t, strings.TrimSuffix(strings.TrimPrefix(property, "table"), "triggercount"))), true
	case "tableinserttrigger", "tableupdatetrigger", "tabledeletetrigger":
		if list := triggersOn(t, strings.TrimSuffix(strings.TrimPrefix(property, "table"), "trigger")); len(list) > 0 {
			return int(list[0].ObjectID), true
		}
		return 0, true
	case "tablehasforeignref":
		return intFlag(slices.ContainsFunc(d.Tables(), func(o *catalog.Table) bool {
			return slices.ContainsFunc(o.ForeignKeys, func(f *catalog.ForeignKey) bool { return f.Referenced == t.ObjectID })
		}))
	case "isansinullson", "isquotedidenton":
		return 1, true
	case "tablehastextimage":
		return intFlag(slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool {
			return c.Type.ID == types.Text || c.Type.ID == types.NText || c.Type.ID == types.Image
		}))
	case "tablehascolumnset", "tabletemporaltype", "tableisfake", "tableismemoryoptimized",
		"tablehasactivefulltextindex", "tablefulltextcatalogid", "tablefulltextkeycolumn",
		"tablefulltextpopulatestatus", "tablefulltextpendingchanges", "tablefulltextdocsprocessed",
		"tablefulltextfailcount", "tablefulltextitemcount",
		"tablefulltextbackgroundupdateindexon", "tablefulltextchangetrackingon", "tablefulltextmergestatus",
		"tablehasvardecimalstorageformat", "tableislockedonbulkload",
		"tableispinned", "tabletextinrowlimit", "issystemverified":
		return 0, true
	}
	return 0, false
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
		switch property {
		case "execisinserttrigger", "execisupdatetrigger", "execisdeletetrigger":
			return intFlag(slices.Contains(tr.Events,
				strings.ToUpper(strings.TrimSuffix(strings.TrimPrefix(property, "execis"), "trigger"))))
		case "execisaftertrigger":
			return intFlag(!tr.InsteadOf)
		case "execisinsteadoftrigger":
			return intFlag(tr.InsteadOf)
		case "execistriggerdisabled":
			return intFlag(tr.Disabled)
		case "execisansinullson", "isansinullson":
			return intFlag(!tr.AnsiNullsOff)
		case "execisquotedidenton", "isquotedidenton":
			return intFlag(!tr.QuotedOff)
		case "execistriggernotforrepl":
			return intFlag(tr.NotReplicated)
		case "isencrypted":
			return intFlag(tr.Encrypted)
		case "execisfirstinserttrigger", "execisfirstupdatetrigger", "execisfirstdeletetrigger":
			return intFlag(slices.Contains(tr.First,
				strings.ToUpper(strings.TrimSuffix(strings.TrimPrefix(property, "execisfirst"), "trigger"))))
		case "execislastinserttrigger", "execislastupdatetrigger", "execislastdeletetrigger":
			return intFlag(slices.Contains(tr.Last,
				strings.ToUpper(strings.TrimSuffix(strings.TrimPrefix(property, "execislast"), "trigger"))))
		case "isschemabound", "execiswithnativecompilation", "isdeterministic", "issystemverified":
			return 0, true
		}
		return 0, false
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
	switch property {
	case "cnstisdisabled":
		return intFlag(disabled)
	case "cnstisnottrusted":
		return intFlag(notTrusted)
	case "cnstiscolumn":
		return intFlag(column || c.Kind == catalog.KindDefault)
	case "cnstisclustkey":
		return intFlag(clustered)
	case "cnstisnonclustkey":
		return intFlag(nonclustered)
	case "cnstisdeletecascade":
		return intFlag(cascadeDelete)
	case "cnstisupdatecascade":
		return intFlag(cascadeUpdate)
	case "cnstisnotrepl", "issystemverified":
		return 0, true
	case "isansinullson", "isquotedidenton":
		return 1, c.Kind == catalog.KindCheck || c.Kind == catalog.KindDefault
	}
	return 0, false
}
