package sysviews

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// spaceSets returns the system tables about the pages of tables and indexes for sp_spaceused and
// sys.dm_db_index_physical_stats. SQL Server does not have them.
func spaceSets() []declaration {
	return []declaration{
		{
			name: "sys.spt_space_used", live: true,
			rows: spaceUsed,
		},
		{
			name: "sys.spt_index_pages", live: true,
			rows: indexPages,
		},
	}
}

// spaceUsed counts the pages of the visible tables in the file as the session sees it. SQLite's
// dbstat reads the whole file for this.
func spaceUsed(ctx context.Context, env *Env) ([]row, error) {
	used := map[int32]*[2]int64{}
	query := fmt.Sprintf("SELECT s.tbl_name, s.type = 'index', SUM(b.pgsize) "+
		"FROM dbstat(?1, 1) AS b JOIN %s.sqlite_schema AS s ON s.name = b.name GROUP BY 1, 2", env.Database.SQLName())
	err := env.Conn.Each(ctx, query, []types.Value{env.Database.SQLName()}, func(r []types.Value) error {
		name, _ := r[0].(string)
		index, _ := r[1].(int64)
		bytes, _ := r[2].(int64)
		id, err := strconv.Atoi(strings.TrimPrefix(name, "t"))
		if err != nil {
			return nil // a table of the catalog
		}
		if used[int32(id)] == nil {
			used[int32(id)] = &[2]int64{}
		}
		used[int32(id)][index] += (bytes + catalog.PageSize - 1) / catalog.PageSize
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []row
	for _, o := range env.objects() {
		if u := used[o.Head().ObjectID]; u != nil {
			out = append(out, row{"object_id": int64(o.Head().ObjectID), "data_pages": u[0], "index_pages": u[1]})
		}
	}
	return out, nil
}

// indexPages counts the pages and levels of indexes in the file as the session sees it, and
// measures their fragmentation: the percentage of leaf pages that do not follow the page before
// them in the file. A heap or clustered index is the SQLite table itself.
func indexPages(ctx context.Context, env *Env) ([]row, error) {
	type use struct {
		pages, depth  int64
		fragmentation float64
	}
	used := map[string]use{}
	const query = "SELECT name, SUM(pgsize), " +
		"MAX(IIF(pagetype = 'overflow', 0, LENGTH(path) - LENGTH(REPLACE(path, '/', '')))), " +
		"100.0 * SUM(pagetype = 'leaf' AND pageno <> before + 1) / MAX(SUM(pagetype = 'leaf'), 1) " +
		"FROM (SELECT *, LAG(pageno, 1, pageno - 1) OVER (PARTITION BY name, pagetype ORDER BY path) AS before FROM dbstat(?1)) GROUP BY 1"
	err := env.Conn.Each(ctx, query, []types.Value{env.Database.SQLName()}, func(r []types.Value) error {
		name, _ := r[0].(string)
		bytes, _ := r[1].(int64)
		depth, _ := r[2].(int64)
		fragmentation, _ := r[3].(float64)
		used[name] = use{(bytes + catalog.PageSize - 1) / catalog.PageSize, depth, fragmentation}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []row
	for _, t := range env.tables() {
		for _, ix := range withHeap(t) {
			name := fmt.Sprintf("i%d_%d", t.ObjectID, ix.ID)
			if ix.ID <= 1 {
				name = fmt.Sprintf("t%d", t.ObjectID)
			}
			if u, ok := used[name]; ok {
				out = append(out, row{"object_id": int64(t.ObjectID), "index_id": int64(ix.ID), "pages": u.pages, "depth": u.depth,
					"fragmentation": u.fragmentation})
			}
		}
	}
	return out, nil
}
