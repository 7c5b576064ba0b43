package sysviews

import (
	"context"
	"maps"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// indexSets returns the system tables about indexes and keys.
func indexSets() []declaration {
	return []declaration{
		{name: "sys.indexes", rows: adding(indexesRows)},
		{name: "sys.index_columns", rows: adding(indexColumnsRows)},
		{name: "sys.key_constraints", rows: adding(keyConstraintsRows)},
		{name: "sys.partitions", live: true, rows: partitions},
		{name: "sys.stats", rows: adding(statsRows)},
	}
}

// indexesRows are the rows of sys.indexes.
func indexesRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, ix := range withHeap(t) {
			add(indexRow(t, ix))
		}
	}
}

// indexColumnsRows are the rows of sys.index_columns.
func indexColumnsRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, ix := range t.Indexes {
			for i, k := range ix.Columns {
				add(row{
					"object_id": int64(t.ObjectID), "index_id": int64(ix.ID), "index_column_id": int64(i + 1),
					"column_id":   int64(k.ColumnID),
					"key_ordinal": int64(i + 1), "is_descending_key": bit(k.Desc),
					"is_included_column": int64(0)})
			}
			for i, id := range ix.Included {
				add(row{
					"object_id": int64(t.ObjectID), "index_id": int64(ix.ID),
					"index_column_id": int64(len(ix.Columns) + i + 1), "column_id": int64(id),
					"is_descending_key": int64(0), "is_included_column": int64(1)})
			}
		}
	}
}

// keyConstraintsRows are the rows of sys.key_constraints.
func keyConstraintsRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, ix := range t.Indexes {
			if ix.Key == nil {
				continue
			}
			kind := catalog.KindUnique
			if ix.Key.Primary {
				kind = catalog.KindPrimaryKey
			}
			r := childRow(&t.Header, catalog.Constraint{ObjectID: ix.Key.ObjectID, Name: ix.Key.Name, Kind: kind},
				ix.Key.Created)
			r["unique_index_id"] = int64(ix.ID)
			r["is_system_named"] = bit(ix.Key.System)
			r["is_enforced"] = int64(1)
			add(r)
		}
	}
}

// statsRows are the rows of sys.stats.
func statsRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, ix := range t.Indexes {
			add(row{
				"object_id": int64(t.ObjectID), "name": ix.Name, "stats_id": int64(ix.ID),
				"no_recompute": bit(ix.NoRecompute), "has_filter": bit(ix.Filter != ""),
				"filter_definition": orNull(ix.Filter),
			})
		}
	}
}

// indexed returns the tables with indexes, including the shapes of table types.
func (env *Env) indexed() []*catalog.Table {
	var out []*catalog.Table
	for _, o := range env.objects() {
		switch o := o.(type) {
		case *catalog.Table:
			out = append(out, o)
		case *catalog.TableType:
			t := catalog.Clone(o.Table)
			t.Header = o.Header
			t.Name, t.SchemaID, t.System = catalog.TypeTableName(&o.Header), catalog.SchemaSys, true
			out = append(out, t)
		}
	}
	return out
}

// withHeap returns the indexes of a table. A table without a clustered index has the heap (index 0)
// as the first one.
func withHeap(t *catalog.Table) []*catalog.Index {
	if t.IndexByID(1) != nil {
		return t.Indexes
	}
	return append([]*catalog.Index{{ID: 0}}, t.Indexes...)
}

// indexRow is a row of sys.indexes.
func indexRow(t *catalog.Table, ix *catalog.Index) row {
	kind, desc := 2, "NONCLUSTERED"
	switch ix.ID {
	case 0:
		kind, desc = 0, "HEAP"
	case 1:
		kind, desc = 1, "CLUSTERED"
	}
	r := row{
		"object_id": int64(t.ObjectID), "name": orNull(ix.Name), "index_id": int64(ix.ID),
		"type": int64(kind), "type_desc": desc, "is_unique": bit(ix.Unique),
		"ignore_dup_key": bit(ix.IgnoreDups), "is_primary_key": bit(ix.Key != nil && ix.Key.Primary),
		"is_unique_constraint": bit(ix.Key != nil && !ix.Key.Primary), "fill_factor": int64(ix.FillFactor),
		"has_filter": bit(ix.Filter != ""), "filter_definition": orNull(ix.Filter),
	}
	maps.Copy(r, row{
		"is_padded": bit(ix.Padded), "is_disabled": bit(ix.Disabled), "allow_row_locks": bit(!ix.NoRowLocks),
		"allow_page_locks": bit(!ix.NoPageLocks), "optimize_for_sequential_key": bit(ix.Sequential),
	})
	return r
}

// partitions are the rows of sys.partitions: one for each index, with the number of rows of its
// table.
func partitions(ctx context.Context, env *Env) ([]row, error) {
	if err := env.Conn.Databases.Attach(ctx, env.Database.ID); err != nil {
		return nil, err
	}
	var out []row
	for _, t := range env.tables() {
		n, err := env.Conn.QueryRow(ctx, "SELECT count(*) FROM "+env.rowSource(t), nil)
		if err != nil {
			return nil, err
		}
		for _, ix := range withHeap(t) {
			id := int64(t.ObjectID)<<16 | int64(ix.ID)
			out = append(out, row{
				"partition_id": id, "object_id": int64(t.ObjectID), "index_id": int64(ix.ID),
				"partition_number": int64(1), "hobt_id": id,
				"rows": n[0], "data_compression_desc": "NONE", "xml_compression": int64(0),
				"xml_compression_desc": "OFF"})
		}
	}
	// SQL Server shows its own tables in every database, so that a sum over partitions is never
	// NULL. Here the table sqlite_schema has this role.
	n, err := env.Conn.QueryRow(ctx, "SELECT count(*) FROM "+env.Database.SQLName()+".sqlite_schema", nil)
	if err != nil {
		return nil, err
	}
	const id = schemaTable << 16
	return append(out, row{
		"partition_id": int64(id), "object_id": int64(schemaTable), "index_id": int64(1), "partition_number": int64(1),
		"hobt_id": int64(id),
		"rows":    n[0], "data_compression_desc": "NONE", "xml_compression": int64(0),
		"xml_compression_desc": "OFF"}), nil
}

// schemaTable is the object ID of sqlite_schema in sys.partitions: the object ID of SQL Server's
// first system table.
const schemaTable = 3
