//go:build unix

package schema_test

import (
	"flag"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
)

// benchDatabases is the number of databases of BenchmarkFleet.
var benchDatabases = flag.Int("schema.databases", 20, "how many databases BenchmarkFleet reads")

// BenchmarkFleet reads databases of 300 objects (100 tables with a key and an index, 100 views, 100
// procedures) and compares them with the majority; one of 50 differs. Its bar (issue 32): 1,000
// databases in less than 60 s on two cores, the embedded server included. The CPU time says so on a
// machine that others use, too:
//
//	go test ./targets/schema -run '^$' -bench Fleet -benchtime 1x -schema.databases 1000
func BenchmarkFleet(b *testing.B) {
	f := newFixture(b)
	var script strings.Builder
	for i := range 100 {
		fmt.Fprintf(&script, "CREATE TABLE dbo.Table%d (id int IDENTITY NOT NULL CONSTRAINT PK%d PRIMARY KEY, name nvarchar(100) NOT NULL,"+
			" amount decimal(18, 2) NULL CONSTRAINT DF%d DEFAULT 0, Date datetime2(3) NULL, state tinyint NULL);\nCREATE INDEX IX%d ON dbo.Table%d (name, Date);\n",
			i, i, i, i, i)
	}
	for i := range 100 {
		fmt.Fprintf(&script, "GO\nCREATE VIEW dbo.View%d AS SELECT id, name, amount FROM dbo.Table%d WHERE state = 1;\nGO\nCREATE PROCEDURE dbo.Procedure%d @id int AS\n%s"+
			"SELECT id, name FROM dbo.Table%d WHERE id = @id;\n", i, i, i, strings.Repeat("-- What this procedure does, in some words of its author.\n", 10), i)
	}
	for i := range *benchDatabases {
		name := f.database(b, script.String())
		if i%50 == 49 {
			f.exec(b, name, "DROP INDEX IX7 ON dbo.Table7")
		}
	}
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		fleet := f.fleet(b, drift.Options{})
		r, err := fleet.Majority()
		require.NoError(b, err)
		report := fleet.Compare(r)
		require.Equal(b, *benchDatabases, report.Databases)
		require.Equal(b, *benchDatabases-*benchDatabases/50, report.Alike)
	}
	b.ReportMetric((cpu(b)-before).Seconds()*1000/float64(b.N)/float64(*benchDatabases), "cpu-s/1000databases")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/float64(*benchDatabases), "s/1000databases")
}

// cpu returns the CPU time of the process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
