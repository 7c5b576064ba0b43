package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/question"
)

// DriftReport is which databases have another schema than a reference.
type DriftReport struct {
	Against     string            `json:"against"`     // majority, a file, or server/database
	Fingerprint string            `json:"fingerprint"` // SHA-256 of the schema with which the others are compared
	Databases   int               `json:"databases"`   // that were read
	Alike       int               `json:"alike"`       // of them, those without a difference
	Differences []DriftDifference `json:"differences"` // those of most databases first
	Failures    []DriftFailure    `json:"failures"`    // databases that could not be read
}

// DriftDifference is one difference, and the databases that have it.
type DriftDifference struct {
	Change    string   `json:"change"` // missing, extra or different
	Kind      string   `json:"kind"`   // such as table, column, index or procedure
	Schema    string   `json:"schema_name,omitempty"`
	Table     string   `json:"table_name,omitempty"`  // to which the object belongs
	Object    string   `json:"object_name,omitempty"` // in parentheses what it says, if the system gave its name
	Words     string   `json:"words"`
	Details   []string `json:"details"`        // what differs
	TSQL      string   `json:"tsql,omitempty"` // makes the object like that of the reference; only where that is certain
	Databases []string `json:"databases"`      // as server/database
}

// DriftFailure is an error, and the databases that could not be read because of it.
type DriftFailure struct {
	Message   string   `json:"message"`
	Databases []string `json:"databases"` // as server/database
}

// DriftBaseline is a schema that was declared to be right. Its fields are those of the view
// jobs.drift_baselines.
type DriftBaseline struct{ drifts.Baseline }

// BaselineName names a baseline of schemas.
type BaselineName struct {
	Name string `json:"baseline_name"`
}

// NewDriftReport returns the report of a comparison.
func NewDriftReport(against string, r drift.Reference, found drift.Report, failed []question.Failure) DriftReport {
	v := DriftReport{
		Against: against, Fingerprint: r.Hash.String(), Databases: found.Databases, Alike: found.Alike,
		Differences: []DriftDifference{}, Failures: []DriftFailure{},
	}
	for _, d := range found.Differences {
		details := d.Details
		if details == nil {
			details = []string{}
		}
		v.Differences = append(v.Differences, DriftDifference{
			Change: string(d.Change), Kind: string(d.Object.Kind), Schema: d.Object.Schema, Table: d.Object.Table, Object: d.Object.Name,
			Words: d.Words(), Details: details, TSQL: d.TSQL, Databases: d.Databases,
		})
	}
	for _, g := range question.GroupFailures(failed) {
		v.Failures = append(v.Failures, DriftFailure{Message: g.Message, Databases: g.Targets})
	}
	return v
}

// shownDatabases is the number of databases that are named for one difference or error.
const shownDatabases = 10

// SomeDatabases returns the names of some databases, and how many more there are.
func SomeDatabases(list []string) string {
	if n := len(list) - shownDatabases; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:shownDatabases], ", "), n)
	}
	return strings.Join(list, ", ")
}

// PrintDrift prints a report in words.
func PrintDrift(p *Printer, v DriftReport) error {
	return p.Emit(v, func(w io.Writer) error {
		var b strings.Builder
		for _, d := range v.Differences {
			fmt.Fprintln(&b, OneLine(d.Words))
			for _, x := range d.Details {
				fmt.Fprintf(&b, "  %s\n", OneLine(x))
			}
			list := SomeDatabases(d.Databases)
			if p.Format == FormatWide {
				list = strings.Join(d.Databases, ", ")
			}
			fmt.Fprintf(&b, "  %s\n", OneLine(list))
		}
		if b.Len() > 0 {
			fmt.Fprintln(&b)
		}
		reference := v.Against
		if v.Against == DriftMajority {
			reference = "the majority"
		}
		fmt.Fprintf(&b, "%d of %s %s like %s (%.12s).\n", v.Alike, wording.Count(v.Databases, "database"), wording.Plural(v.Alike, "is", "are"), OneLine(reference), v.Fingerprint)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// DriftMajority is the reference that is what most databases have.
const DriftMajority = "majority"

// PrintDriftTSQL prints the statements of a report, with the differences as comments.
func PrintDriftTSQL(p *Printer, v DriftReport) error {
	return p.Emit(v, func(w io.Writer) error {
		var b strings.Builder
		for _, d := range v.Differences {
			b.WriteString(tsql.Comment("", d.Words))
			for _, x := range d.Details {
				b.WriteString(tsql.Comment("  ", x))
			}
			b.WriteString(tsql.Comment("on ", strings.Join(d.Databases, ", ")))
			if d.TSQL == "" {
				b.WriteString("-- No statement is certain.\n\n")
				continue
			}
			b.WriteString(d.TSQL + "\n")
			if !strings.HasSuffix(d.TSQL, "\nGO") {
				b.WriteString("GO\n")
			}
			b.WriteString("\n")
		}
		_, err := io.WriteString(w, terminal.CleanScreen(b.String()))
		return err
	})
}

// ExportedSchema is the schema that a file has now.
type ExportedSchema struct {
	Database    string `json:"database"` // as server/database
	File        string `json:"file"`
	Objects     int    `json:"objects"`
	Fingerprint string `json:"fingerprint"` // SHA-256 as of jobagent drift check without options
}
