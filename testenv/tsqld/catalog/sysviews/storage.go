package sysviews

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// storageSets returns the system tables about files, filegroups and settings of databases.
func storageSets() []declaration {
	return []declaration{
		{name: "sys.data_spaces", rows: singleRow(constantRow)},
		{name: "sys.filegroups", rows: singleRow(constantRow)},
		{name: "sys.database_files", live: true, rows: func(_ context.Context,
			env *Env) ([]row, error) {
			return env.files(env.Database), nil
		}},
		{name: "sys.master_files", live: true, rows: adding(masterFilesRows)},
		{name: "sys.database_mirroring", rows: eachDatabase(func(*catalog.Database) row { return row{} })},
		{name: "sys.database_recovery_status", rows: databaseRecoveryStatusRows},
		{name: "sys.database_filestream_options", rows: eachDatabase(func(*catalog.Database) row { return row{} })},
		{name: "sys.database_query_store_options", rows: singleRow(databaseQueryStoreOptionsRow)},
		{name: "sys.database_scoped_configurations", rows: scopedConfigurations},
		{name: "sys.xml_schema_collections", rows: singleRow(xmlSchemaCollectionsRow)},
		{name: "sys.stats_columns", rows: adding(statsColumnsRows)},
		{name: "sys.trigger_events", rows: adding(triggerEventsRows)},
	}
}

// masterFilesRows are the rows of sys.master_files.
func masterFilesRows(env *Env, add func(row)) {
	for _, d := range env.Snapshot.Databases() {
		for _, r := range env.files(d) {
			r["database_id"] = int64(d.ID)
			add(r)
		}
	}
}

// databaseRecoveryStatusRows are the rows of sys.database_recovery_status. A database whose file
// was replaced, such as by a copy of an earlier day, has another recovery fork.
func databaseRecoveryStatusRows(ctx context.Context, env *Env) ([]row, error) {
	return eachDatabase(func(d *catalog.Database) row {
		id := guid(d, "database")
		fork := guid(d, "recovery fork "+fileIdentity(env.Path(d.ID)))
		return row{
			"database_guid": id, "family_guid": id, "recovery_fork_guid": fork, "first_recovery_fork_guid": nil,
		}
	})(ctx, env)
}

// databaseQueryStoreOptionsRow is the row of sys.database_query_store_options.
func databaseQueryStoreOptionsRow(*Env) row {
	return row{
		"actual_state_additional_info": "",
	}
}

// xmlSchemaCollectionsRow is the row of sys.xml_schema_collections.
func xmlSchemaCollectionsRow(*Env) row {
	return row{
		"schema_id": int64(catalog.SchemaSys), "create_date": int64(catalog.Epoch),
		"modify_date": int64(catalog.Epoch),
	}
}

// statsColumnsRows are the rows of sys.stats_columns.
func statsColumnsRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, ix := range t.Indexes {
			for i, k := range ix.Columns {
				add(row{
					"object_id": int64(t.ObjectID), "stats_id": int64(ix.ID),
					"stats_column_id": int64(i + 1), "column_id": int64(k.ColumnID),
				})
			}
		}
	}
}

// triggerEventsRows are the rows of sys.trigger_events.
func triggerEventsRows(env *Env, add func(row)) {
	for _, o := range env.objects() {
		for _, tr := range catalog.Triggers(o) {
			for _, e := range tr.Events {
				add(row{
					"object_id": int64(tr.ObjectID), "type": triggerEvents[e], "type_desc": e,
					"is_first": bit(slices.Contains(tr.First, e)), "is_last": bit(slices.Contains(tr.Last, e)),
				})
			}
		}
	}
}

// triggerEvents maps events to the types of sys.trigger_events.
var triggerEvents = map[string]int64{"INSERT": 1, "UPDATE": 2, "DELETE": 3}

// eachDatabase returns the rows function of a system table with one row for each database.
func eachDatabase(makeRow func(d *catalog.Database) row) func(context.Context, *Env) ([]row, error) {
	return func(_ context.Context, env *Env) ([]row, error) {
		var out []row
		for _, d := range env.Snapshot.Databases() {
			r := makeRow(d)
			r["database_id"] = int64(d.ID)
			out = append(out, r)
		}
		return out, nil
	}
}

// guid returns an ID of a database for a purpose, in the stored form of a uniqueidentifier. It
// never changes.
func guid(d *catalog.Database, purpose string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", purpose, d.ID, d.Created))
	return sum[:16]
}

// maxLogPages is the maximum size of a log file: 2 TB.
const maxLogPages = 268435456

// files are the rows of sys.database_files.
func (env *Env) files(d *catalog.Database) []row {
	var out []row
	for i, f := range catalog.Files(d, env.Path(d.ID)) {
		r := row{
			"file_id": int64(i + 1), "type_desc": "ROWS", "data_space_id": int64(1), "name": f.Name,
			"physical_name": f.Path, "size": f.Pages, "is_read_only": bit(d.Options.ReadOnly),
		}
		if f.Log {
			r["max_size"] = int64(maxLogPages)
			r["type"], r["type_desc"], r["data_space_id"] = int64(1), "LOG", int64(0)
		}
		out = append(out, r)
	}
	return out
}

// scopedConfigurations are the rows of sys.database_scoped_configurations: the values that were
// set, which have no effect here, and else the defaults of SQL Server 2022. Documentation: "ALTER
// DATABASE SCOPED CONFIGURATION".
func scopedConfigurations(_ context.Context, env *Env) ([]row, error) {
	var out []row
	for _, c := range []struct {
		id    int64
		name  string
		value any
	}{
		{1, "MAXDOP", int64(0)}, {2, "LEGACY_CARDINALITY_ESTIMATION", false}, {3, "PARAMETER_SNIFFING", true},
		{4, "QUERY_OPTIMIZER_HOTFIXES", false},
		{6, "IDENTITY_CACHE", true}, {7, "INTERLEAVED_EXECUTION_TVF", true},
		{8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", true}, {9, "BATCH_MODE_ADAPTIVE_JOINS", true},
		{10, "TSQL_SCALAR_UDF_INLINING", true}, {11, "ELEVATE_ONLINE", "OFF"}, {12, "ELEVATE_RESUMABLE", "OFF"},
		{13, "OPTIMIZE_FOR_AD_HOC_WORKLOADS", false},
		{14, "XTP_PROCEDURE_EXECUTION_STATISTICS", false}, {15, "XTP_QUERY_EXECUTION_STATISTICS", false},
		{16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", true},
		{17, "ISOLATE_SECURITY_POLICY_CARDINALITY", false}, {18, "BATCH_MODE_ON_ROWSTORE", true},
		{19, "DEFERRED_COMPILATION_TV", true}, {20, "ACCELERATED_PLAN_FORCING", true},
		{21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", true}, {22, "LIGHTWEIGHT_QUERY_PROFILING", true},
		{23, "VERBOSE_TRUNCATION_WARNINGS", true}, {24, "LAST_QUERY_PLAN_STATS", false},
		{25, "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES", int64(1440)}, {26, "DW_COMPATIBILITY_LEVEL", int64(0)},
		{27, "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS", true},
		{28, "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION", true}, {29, "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY", false},
		{31, "CE_FEEDBACK", true},
		{33, "MEMORY_GRANT_FEEDBACK_PERSISTENCE", true}, {34, "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT", true},
		{35, "OPTIMIZED_PLAN_FORCING", true}, {37, "DOP_FEEDBACK", false},
		{38, "LEDGER_DIGEST_STORAGE_ENDPOINT", "OFF"}, {39, "FORCE_SHOWPLAN_RUNTIME_PARAMETER_COLLECTION", false},
	} {
		var v types.Value
		var err error
		isDefault := true
		if text, ok := env.Database.Options.Other[catalog.ScopedOption+c.name]; ok {
			was := c.value
			switch c.value.(type) {
			case bool:
				c.value = text == "ON"
			case int64:
				n, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return nil, err
				}
				c.value = n
			default:
				c.value = text
			}
			isDefault = c.value == was
		}
		switch x := c.value.(type) {
		case bool:
			v, err = variant(bit(x), types.BitType)
		case int64:
			v, err = variant(x, types.IntType)
		case string:
			v, err = variant(x, types.NVarCharOf(60))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, row{"configuration_id": c.id, "name": c.name, "value": v, "is_value_default": bit(isDefault)})
	}
	return out, nil
}
