package sqlserver

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// T-SQL and expectations about plans.
var (
	//go:embed plans.sql
	plansSQL string
	//go:embed waits.sql
	waitsSQL string
	//go:embed expected_plans.txt
	expectedPlans string
)

// Statement is a statement of one of our modules with its cost and its plan.
type Statement struct {
	Database, Module string
	// Offset is the statement's place in the module's text, in bytes of UTF-16.
	Offset     int64
	Text       string
	Executions int64
	// CPU and Elapsed are totals in microseconds; Reads is a total, in pages, MostReads that of one
	// execution.
	CPU, Elapsed, Reads, MostReads int64
	// Plan is the showplan in XML; empty if the server has none any more.
	Plan string
}

// Statements returns the statements of our modules in the plan cache.
func Statements(ctx context.Context, db *sql.DB) ([]Statement, error) {
	rows, err := db.QueryContext(ctx, plansSQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Statement
	for rows.Next() {
		var s Statement
		err := rows.Scan(&s.Database, &s.Module, &s.Offset, &s.Text, &s.Executions, &s.CPU, &s.Elapsed, &s.Reads, &s.MostReads, &s.Plan)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// Wait is what sessions have waited for since the server started.
type Wait struct {
	Type                      string
	Waits, Time, Most, Signal int64 // times in milliseconds
}

// Waits returns the waits that concern databases, the longest first.
func Waits(ctx context.Context, db *sql.DB) ([]Wait, error) {
	rows, err := db.QueryContext(ctx, waitsSQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Wait
	for rows.Next() {
		var w Wait
		if err := rows.Scan(&w.Type, &w.Waits, &w.Time, &w.Most, &w.Signal); err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, rows.Err()
}

// Limits of a plan's operators. The large tables have millions of rows, while a pass, a claim or a
// report of an outcome handles at most some thousands.
const (
	// manyRows is the estimate above which a scan or a sort is a finding.
	manyRows = 10_000
	// largeGrant is the memory that a statement may ask for, in KB.
	largeGrant = 64 << 10
)

// showplan is the part of a plan that Examine reads
// (http://schemas.microsoft.com/sqlserver/2004/07/showplan).
type showplan struct {
	Statements []struct {
		Plan struct {
			Grant struct {
				Desired int64 `xml:"SerialDesiredMemory,attr"`
			} `xml:"MemoryGrantInfo"`
			Warnings struct {
				Converts []struct {
					Issue      string `xml:"ConvertIssue,attr"`
					Expression string `xml:"Expression,attr"`
				} `xml:"PlanAffectingConvert"`
			} `xml:"Warnings"`
			Root operator `xml:"RelOp"`
		} `xml:"QueryPlan"`
	} `xml:"BatchSequence>Batch>Statements>StmtSimple"`
}

// operator is a RelOp. Its children are in the element of its kind, whose name differs.
type operator struct {
	Physical string  `xml:"PhysicalOp,attr"`
	Rows     float64 `xml:"EstimateRows,attr"`
	Read     float64 `xml:"EstimatedRowsRead,attr"` // 0: as Rows
	Kinds    []kind  `xml:",any"`
}

// kind is the element of an operator that has its properties and its children.
type kind struct {
	XMLName xml.Name
	Lookup  string   `xml:"Lookup,attr"`
	Objects []object `xml:"Object"`
	// Children are operators, directly or inside of further elements.
	Children []operator `xml:"RelOp"`
	Further  []kind     `xml:",any"`
}

// object is what an operator reads.
type object struct {
	Schema string `xml:"Schema,attr"`
	Table  string `xml:"Table,attr"`
	Index  string `xml:"Index,attr"`
}

// name returns the object without quotes.
func (o object) name() string {
	name := strings.NewReplacer("[", "", "]", "").Replace(o.Schema + "." + o.Table)
	if o.Index != "" {
		name += " by " + strings.Trim(o.Index, "[]")
	}
	return strings.TrimPrefix(name, ".")
}

// Examine returns what a plan has that no frequent statement of ours may have: key lookups, scans
// and sorts of many rows, conversions that keep an index from being used, large grants of memory.
// An empty plan has none.
func Examine(plan string) ([]string, error) {
	if plan == "" {
		return nil, nil
	}
	var p showplan
	if err := xml.Unmarshal([]byte(plan), &p); err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	var found []string
	for _, s := range p.Statements {
		if grant := s.Plan.Grant.Desired; grant > largeGrant {
			found = append(found, fmt.Sprintf("memory grant of %d KB", grant))
		}
		for _, c := range s.Plan.Warnings.Converts {
			found = append(found, fmt.Sprintf("conversion (%s): %s", c.Issue, c.Expression))
		}
		s.Plan.Root.examine(&found)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// examine adds the findings of an operator and of those below it.
func (o operator) examine(found *[]string) {
	rows := max(o.Rows, o.Read)
	switch o.Physical {
	case "Clustered Index Scan", "Index Scan", "Table Scan":
		if rows > manyRows {
			*found = append(*found, fmt.Sprintf("%s of %s, %.0f rows", strings.ToLower(o.Physical), o.reads(), rows))
		}
	case "Sort", "Top N Sort", "Distinct Sort":
		if rows > manyRows {
			*found = append(*found, fmt.Sprintf("sort of %.0f rows", rows))
		}
	}
	for _, k := range o.Kinds {
		k.examine(found)
	}
}

func (k kind) examine(found *[]string) {
	if k.Lookup == "1" || k.Lookup == "true" {
		for _, o := range k.Objects {
			*found = append(*found, "key lookup in "+o.name())
		}
	}
	for _, c := range k.Children {
		c.examine(found)
	}
	for _, f := range k.Further {
		f.examine(found)
	}
}

// reads names what a scan reads.
func (o operator) reads() string {
	for _, k := range o.Kinds {
		for _, read := range k.Objects {
			return read.name()
		}
	}
	return "?"
}

// Expected reports whether a finding in a plan of a module is listed in expected_plans.txt.
func Expected(module, finding string) bool { return expected(expectedPlans, module, finding) }

// expected is Expected with the text of the file.
func expected(list, module, finding string) bool {
	for line := range strings.Lines(list) {
		parts := strings.SplitN(line, "|", 3)
		if len(parts) == 3 && !strings.HasPrefix(line, "#") && strings.TrimSpace(parts[0]) == module &&
			strings.HasPrefix(finding, strings.TrimSpace(parts[1])) {
			return true
		}
	}
	return false
}

// UTF16 encodes a plan as Management Studio saves plans: its declaration says UTF-16.
func UTF16(plan string) []byte {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(plan)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}
