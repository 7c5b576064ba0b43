package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/sqlserver"
)

// planPoll is the time between two readings of the plan cache. The benchmark drops its databases at
// its end, and their plans with them.
const planPoll = 5 * time.Second

// plans reads the plan cache until ctx ends, and then writes to a directory: a file
// MODULE-OFFSET.sqlplan for each statement, statements.tsv with their costs, waits.tsv. It prints
// the findings, and fails if one is not expected.
func plans(ctx context.Context, db *sql.DB, dir string) error {
	if err := sqlserver.Watched(ctx, db); err != nil {
		return err
	}
	later := context.WithoutCancel(ctx)
	before, err := sqlserver.Waits(later, db)
	if err != nil {
		return err
	}
	type key struct {
		database, module string
		offset           int64
	}
	latest := map[key]sqlserver.Statement{}
	poll := time.NewTicker(planPoll)
	defer poll.Stop()
	for ctx.Err() == nil {
		list, err := sqlserver.Statements(later, db)
		if err != nil {
			return err
		}
		for _, s := range list {
			k := key{s.Database, s.Module, s.Offset}
			if s.Plan == "" {
				s.Plan = latest[k].Plan
			}
			latest[k] = s
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
	}
	after, err := sqlserver.Waits(later, db)
	if err != nil {
		return err
	}
	list := slices.SortedFunc(maps.Values(latest), func(a, b sqlserver.Statement) int { return cmp.Compare(b.CPU, a.CPU) })
	return errors.Join(writeWaits(dir, before, after), writePlans(dir, list))
}

// writePlans writes the statements, the most expensive first, and reports the findings.
func writePlans(dir string, list []sqlserver.Statement) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	costs := []string{"database\tmodule\toffset\texecutions\tcpu_us\telapsed_us\treads\tmost_reads\tfindings"}
	unexpected := 0
	for _, s := range list {
		found, err := sqlserver.Examine(s.Plan)
		if err != nil {
			return fmt.Errorf("%s at %d: %w", s.Module, s.Offset, err)
		}
		costs = append(costs, fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s", s.Database, s.Module, s.Offset, s.Executions, s.CPU, s.Elapsed,
			s.Reads, s.MostReads, strings.Join(found, "; ")))
		if s.Plan != "" {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d.sqlplan", s.Module, s.Offset))
			if err := os.WriteFile(path, sqlserver.UTF16(s.Plan), 0o644); err != nil {
				return err
			}
		}
		for _, f := range found {
			if !sqlserver.Expected(s.Module, f) {
				unexpected++
				fmt.Printf("%s at %d: %s\n\t%s\n", s.Module, s.Offset, f, firstLine(s.Text))
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "statements.tsv"), []byte(strings.Join(costs, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	fmt.Printf("%d statements; %d findings in their plans are not expected\n", len(list), unexpected)
	if unexpected > 0 {
		return errors.New("plans have findings that expected_plans.txt does not list")
	}
	return nil
}

// writeWaits writes what sessions have waited for between two readings.
func writeWaits(dir string, before, after []sqlserver.Wait) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	earlier := map[string]sqlserver.Wait{}
	for _, w := range before {
		earlier[w.Type] = w
	}
	lines := []string{"wait\tcount\tms\tmost_ms_since_start\tsignal_ms"}
	for _, w := range after {
		e := earlier[w.Type]
		lines = append(lines, fmt.Sprintf("%s\t%d\t%d\t%d\t%d", w.Type, w.Waits-e.Waits, w.Time-e.Time, w.Most, w.Signal-e.Signal))
	}
	return os.WriteFile(filepath.Join(dir, "waits.tsv"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// firstLine returns the first line of a statement that is not blank.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
