package doctor

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/timetable"
	sqlfs "github.com/jobagent/jobagent/sql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestClockChangeFindings: only the next change of clocks counts, and clock times that are moved do
// not.
func TestClockChangeFindings(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	of := func(name, spec string) timetable.Schedule {
		return timetable.Schedule{JobName: "j", Name: name, Kind: "cron5", Spec: spec, TimeZone: "Europe/Berlin"}
	}
	lost, doubled := of("lost", "*/15 2 * * *"), of("doubled", `{"cron": "30 2 * * *", "overlap": "both"}`)
	moved, newer := of("moved", "30 2 * * *"), of("newer", "every full moon")
	quiet := []timetable.Schedule{moved, doubled, newer, of("morning", "0 6 * * *")}
	found := clockChangeFindings(quiet, now)
	require.Len(t, found, 1)
	require.Equal(t, SeverityOK, found[0].Severity)
	found = clockChangeFindings(append(quiet, lost), now)
	require.Len(t, found, 1)
	require.Equal(t, SeverityWarning, found[0].Severity)
	require.Contains(t, found[0].Found, "1 schedule loses or doubles runs at the next change of clocks: lost of job j: On Sunday 28 March 2027 nothing is due")
	found = clockChangeFindings(append(quiet, lost), time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC))
	require.Contains(t, found[0].Found, "2 schedules lose or double runs")
	require.Contains(t, found[0].Found, "doubled of job j: On Sunday 31 October 2027 it runs twice at 02:30")
}

// TestAdministratorFindings: an administrator is no finding, and others with an administrator's
// rights are, also through a role between.
func TestAdministratorFindings(t *testing.T) {
	found := administratorFindings(nil)
	require.Len(t, found, 1)
	require.Equal(t, SeverityOK, found[0].Severity)
	found = administratorFindings([]heldRole{{"ann", "db_owner"}, {"ann", "jobs_admin"}, {"bob", "db_owner"}, {"eve", "jobs_reader"}})
	require.Len(t, found, 1)
	require.Equal(t, SeverityOK, found[0].Severity)
	require.Contains(t, found[0].Found, "db_owner: [ann], [bob]")
	found = administratorFindings([]heldRole{{"ann", "db_owner"}, {"eve", "db_owner"}, {"eve", "jobs_agent"}, {"mallory", "db_ddladmin"}})
	require.Len(t, found, 2)
	require.Equal(t, "ALTER ROLE [db_owner] DROP MEMBER [eve];", found[0].SQL)
	require.Equal(t, "ALTER ROLE [db_ddladmin] DROP MEMBER [mallory];", found[1].SQL)
	require.Equal(t, SeverityWarning, Worst(found))
}

// TestPlaceFindings: each fact that the login does not see is named.
func TestPlaceFindings(t *testing.T) {
	for _, test := range []struct {
		facts placeFacts
		parts []string // of what is found; none: all is well
	}{
		{placeFacts{Created: true, Fork: true}, nil},
		{placeFacts{Created: true}, []string{"recovery_fork_guid"}},
		{placeFacts{Fork: true}, []string{"create_date"}},
		{placeFacts{}, []string{"recovery_fork_guid", "create_date"}},
	} {
		found := placeFindings(test.facts)
		require.Len(t, found, 1)
		if test.parts == nil {
			require.Equal(t, SeverityOK, found[0].Severity)
			continue
		}
		require.Equal(t, SeverityWarning, found[0].Severity)
		require.Contains(t, found[0].SQL, "GRANT VIEW ANY DATABASE")
		for _, part := range test.parts {
			require.Contains(t, found[0].Found, part)
		}
	}
}

// TestFindings covers states that the embedded server cannot be brought into.
func TestFindings(t *testing.T) {
	base := Facts{
		EngineEdition:      3,
		ProductVersion:     "15.0.4000.1",
		Edition:            "Enterprise Edition",
		Name:               "it]s",
		ServerName:         "s",
		MachineName:        "m'1",
		CompatibilityLevel: 150,
		RowVersions:        true,
		State:              "ONLINE",
		Durability:         "DISABLED",
		Snapshot:           "OFF",
		IdentityCache:      true,
		RecoveryModel:      "FULL",
		LogReuseWait:       "LOG_BACKUP",
	}
	require.Equal(t, SeverityOK, Worst(databaseFindings(base)))
	with := func(change func(*Facts)) Facts {
		f := base
		change(&f)
		return f
	}
	for _, test := range []struct {
		facts     Facts
		code      string
		severity  Severity
		fix       string
		foundPart string
	}{
		{
			facts: with(func(f *Facts) { f.ProductVersion = "13.0.5000.1" }), code: CodeServerVersion, severity: SeverityError,
			fix: "use a newer server", foundPart: "13.0.5000.1",
		},
		{
			facts: with(func(f *Facts) { f.EngineEdition = EditionServerless }), code: CodeServerVersion, severity: SeverityError,
			fix: "use SQL Server 2017 or newer, or Azure SQL Database",
		},
		{
			facts: with(func(f *Facts) { f.EngineEdition, f.ProductVersion = EditionAzureDatabase, "12.0.2000.8" }), code: CodeServerVersion, severity: SeverityOK,
		},
		{
			facts: with(func(f *Facts) { f.ServerName = "" }), code: CodeServerName, severity: SeverityWarning,
			fix: "EXECUTE master.sys.sp_addserver @server = N'm''1', @local = 'local';",
		},
		{
			facts: with(func(f *Facts) { f.CompatibilityLevel = 110 }), code: CodeCompatibility, severity: SeverityError,
			fix: "ALTER DATABASE [it]]s] SET COMPATIBILITY_LEVEL = 150;",
		},
		{
			facts: with(func(f *Facts) { f.CompatibilityLevel = 140 }), code: CodeCompatibility, severity: SeverityOK,
			fix: "ALTER DATABASE [it]]s] SET COMPATIBILITY_LEVEL = 150;", foundPart: "140",
		},
		{
			facts: with(func(f *Facts) { f.Updateability = "READ_ONLY" }), code: CodeState, severity: SeverityError,
			fix: "connect to the primary replica, without ApplicationIntent=ReadOnly", foundPart: "replica",
		},
		{
			facts: with(func(f *Facts) { f.UserAccess = "SINGLE_USER" }), code: CodeState, severity: SeverityError,
			fix: "ALTER DATABASE [it]]s] SET MULTI_USER;", foundPart: "single-user",
		},
		{
			facts: with(func(f *Facts) { f.State = "EMERGENCY" }), code: CodeState, severity: SeverityError,
			fix: "ALTER DATABASE [it]]s] SET ONLINE;", foundPart: "EMERGENCY",
		},
		{
			facts: with(func(f *Facts) { f.Durability = "FORCED" }), code: CodeDurability, severity: SeverityWarning,
			fix: "ALTER DATABASE [it]]s] SET DELAYED_DURABILITY = ALLOWED;",
		},
	} {
		var found []Finding
		for _, f := range databaseFindings(test.facts) {
			if f.Code == test.code {
				found = append(found, f)
			}
		}
		require.Len(t, found, 1, test.code)
		require.Equal(t, test.severity, found[0].Severity, "%+v", found[0])
		require.Equal(t, test.fix, found[0].Fix())
		require.Contains(t, found[0].Found, test.foundPart)
	}
}

func TestClockFinding(t *testing.T) {
	require.Equal(t, SeverityOK, clockFinding(-4*time.Second, time.Millisecond).Severity)
	require.Equal(t, SeverityOK, clockFinding(6*time.Second, 4*time.Second).Severity, "within what the round trip allows")
	require.Contains(t, clockFinding(-time.Hour, time.Millisecond).Found, "the server's clock is 1h0m0s behind this machine's")
	require.Contains(t, clockFinding(time.Minute, time.Millisecond).Found, "1m0s ahead of")
}

func TestFileAndLogFindings(t *testing.T) {
	d := Facts{Name: "c", EngineEdition: 3, LogReuseWait: "LOG_BACKUP"}
	file := func(change func(*fileFacts)) []fileFacts {
		f := fileFacts{
			Name:   "c_data",
			Type:   "ROWS",
			Size:   2000 * pagesPerMB,
			Max:    -1,
			Growth: 64 * pagesPerMB,
			Used:   sql.NullInt64{Int64: 1950 * pagesPerMB, Valid: true},
		}
		change(&f)
		return []fileFacts{f}
	}
	require.Equal(t, SeverityOK, Worst(fileFindings(d, file(func(*fileFacts) {}))))
	full := fileFindings(d, file(func(f *fileFacts) { f.Growth = 0 }))
	require.Equal(t, "file c_data uses 1950 of at most 2000 MB", full[0].Found)
	require.Equal(t, "ALTER DATABASE [c] MODIFY FILE (NAME = N'c_data', MAXSIZE = UNLIMITED, FILEGROWTH = 256 MB);", full[0].SQL)
	require.Equal(t, SeverityWarning, Worst(fileFindings(d, file(func(f *fileFacts) { f.Max = 2100 * pagesPerMB }))))
	percent := fileFindings(d, file(func(f *fileFacts) { f.PercentGrowth, f.Growth = true, 10 }))
	require.Equal(t, "ALTER DATABASE [c] MODIFY FILE (NAME = N'c_data', FILEGROWTH = 256 MB);", percent[0].SQL)
	log := file(func(f *fileFacts) { f.Type, f.Max, f.Used = "LOG", unlimitedLog, sql.NullInt64{} })
	require.Equal(t, SeverityOK, Worst(fileFindings(d, log)), "a log of 2 TB at most")
	d.EngineEdition = EditionAzureDatabase
	azure := fileFindings(d, file(func(f *fileFacts) { f.Max = 2100 * pagesPerMB }))
	require.Equal(t, "raise the maximum size of the database, or choose a service objective that permits more", azure[0].Fix())
	require.Equal(t, SeverityOK, Worst(fileFindings(d, file(func(f *fileFacts) { f.PercentGrowth, f.Growth = true, 10 }))), "nobody can change it")
	d.EngineEdition = EditionExpress
	require.Equal(t, SeverityWarning, Worst(fileFindings(d, file(func(f *fileFacts) { f.Size = 9500 * pagesPerMB }))))

	require.Equal(t, SeverityOK, logFinding(d, logFacts{Total: 100 << 20, Used: 70 << 20}).Severity)
	waiting := logFinding(d, logFacts{Total: 100 << 20, Used: 90 << 20})
	require.Empty(t, waiting.SQL, "a BACKUP LOG beside the backup job breaks its chain")
	require.Contains(t, waiting.Command, "run your log backup job")
	d.LogReuseWait = "NOTHING"
	require.Equal(t, SeverityOK, logFinding(d, logFacts{Total: 100 << 20, Used: 99 << 20}).Severity, "it is reused at the next checkpoint")
}

// TestIsDenied: only errors about permissions count.
func TestIsDenied(t *testing.T) {
	require.True(t, dberror.IsDenied(229))
	require.False(t, dberror.IsDenied(208))
}

// TestCollationsOfColumns: if all columns have another collation than the database, the database is
// changed, and otherwise the columns.
func TestCollationsOfColumns(t *testing.T) {
	f := Facts{Collation: "A_CI_AS"}
	columns := func(collations ...string) []collated {
		var list []collated
		for i, c := range collations {
			list = append(list, collated{Table: "jobs_internal.t", Column: fmt.Sprint("c", i), Type: "NVARCHAR(9)", Nullable: i > 0, Collation: c})
		}
		return list
	}
	require.Empty(t, f.columnCollations(columns("A_CI_AS", "A_CI_AS")))
	require.Contains(t, f.columnCollations(columns("B_CI_AS", "B_CI_AS"))[0].SQL, "ALTER DATABASE CURRENT COLLATE B_CI_AS;")
	const first, second = "\nALTER TABLE jobs_internal.t ALTER COLUMN [c0] NVARCHAR(9) COLLATE A_CI_AS NOT NULL;", "\nALTER TABLE jobs_internal.t ALTER COLUMN [c1] NVARCHAR(9) COLLATE A_CI_AS NULL;"
	require.True(t, strings.HasSuffix(f.columnCollations(columns("A_CI_AS", "B_CI_AS"))[0].SQL, "again."+second))
	require.True(t, strings.HasSuffix(f.columnCollations(columns("B_CI_AS", "C_CI_AS"))[0].SQL, "again."+first+second))
	f.EngineEdition = EditionAzureDatabase
	require.Contains(t, f.columnCollations(columns("B_CI_AS"))[0].Command, "new database with the collation B_CI_AS")
	require.Contains(t, f.columnCollations(columns("A_CI_AS", "B_CI_AS"))[0].SQL, "ALTER COLUMN")
}

// TestConditionsAsTheServerStoresThem: the condition of a CHECK constraint is recognised in the words
// in which SQL Server stores it, and not if a value, a column or a bound has changed.
func TestConditionsAsTheServerStoresThem(t *testing.T) {
	const declared = "(\n        (state IN (N'On', N'Off (x)') AND Ended_At IS NULL)\n        OR n >= 1 OR ISJSON(note) = 1\n    )"
	for stored, same := range map[string]bool{
		"(([state]=N'Off (x)' OR [state]=N'On') AND [Ended_At] IS NULL OR [n]>=(1) OR isjson([note])=(1))":                   true,
		"(([state]=N'Off (x)' OR [state]=N'On' OR [state]=N'New') AND [Ended_At] IS NULL OR [n]>=(1) OR isjson([note])=(1))": false,
		"(([state]=N'Off (X)' OR [state]=N'On') AND [Ended_At] IS NULL OR [n]>=(1) OR isjson([note])=(1))":                   false,
		"(([state]=N'Off (x)' OR [state]=N'On') AND [begun_at] IS NULL OR [n]>=(1) OR isjson([note])=(1))":                   false,
		"(([state]=N'Off (x)' OR [state]=N'On') AND [Ended_At] IS NULL OR [n]>=(2) OR isjson([note])=(1))":                   false,
	} {
		require.Equal(t, same, checkMeaning(stored) == checkMeaning(declared), stored)
	}
	found := constraintsOf("t", "CREATE TABLE t (\n    CONSTRAINT CK_t\n        CHECK "+declared+",\n    CONSTRAINT FK_t FOREIGN KEY (a, B)\n        REFERENCES s.u (c, d) ON DELETE CASCADE\n);")
	require.Equal(t, []constraint{
		{table: "t", name: "FK_t", meaning: "a, b > s.u c, d cascade", text: "CONSTRAINT FK_t FOREIGN KEY (a, B)\n        REFERENCES s.u (c, d) ON DELETE CASCADE"},
		{table: "t", name: "CK_t", meaning: checkMeaning(declared), text: "CONSTRAINT CK_t\n        CHECK " + declared},
	}, found)
}

// TestDeclarations: the declared indexes and constraints are those of a fresh install.
func TestDeclarations(t *testing.T) {
	d, err := declarations()
	require.NoError(t, err)
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	want, constraints, escalations := 0, 0, 0
	for _, o := range objects {
		if o.Kind != sqlfs.KindTable {
			continue
		}
		for line := range strings.Lines(o.Text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "--") {
				continue
			}
			if strings.Contains(line, "INDEX ") || strings.Contains(line, " PRIMARY KEY") ||
				strings.Contains(line, " UNIQUE (") {
				want++
			}
			if strings.Contains(line, "FOREIGN KEY (") || strings.Contains(line, "CHECK (") {
				constraints++
			}
			escalations += strings.Count(line, "LOCK_ESCALATION")
		}
	}
	require.Len(t, d.indexes, want)
	require.Len(t, d.constraints, constraints)
	require.Len(t, d.escalation, escalations)
	for _, x := range d.indexes {
		require.NotEmpty(t, x.table, x.name)
		require.NotEmpty(t, x.keys, x.name)
		if x.name == "UQ_job_executions_job_execution_id" { // without the option, the index would be full again
			require.Equal(t, "ALTER TABLE jobs_internal.job_executions ADD CONSTRAINT UQ_job_executions_job_execution_id UNIQUE (job_execution_id) WITH (FILLFACTOR = 85);",
				fixIndex(x, false, false, true))
		}
		if x.name == "IX_task_executions_held" { // agents work meanwhile
			require.Contains(t, fixIndex(x, true, false, true), "WITH (DROP_EXISTING = ON, ONLINE = ON);")
			require.NotContains(t, fixIndex(x, false, false, false), "WITH")
		}
	}
}
