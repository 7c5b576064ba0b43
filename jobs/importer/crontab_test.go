package importer

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/testenv/bounds"
)

var writeGoldens = flag.Bool("importer.write", false, "write the files testdata/*/*.golden")

// golden compares an import with a file beside its text.
func golden(t *testing.T, r *Result, name string) {
	t.Helper()
	noSecrets(t, r)
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.String() + "\n")
	}
	b.WriteString(r.Summary() + "\n\n" + r.Script())
	file := filepath.Join("testdata", name+".golden")
	if *writeGoldens {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "write it with -importer.write")
}

func TestCrontab(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"debian_system": {Now: now, Zone: "Europe/Berlin"},
		"cron_d":        {Now: now, TargetGroup: "tenants"},
		"user":          {Now: now, Server: "sql0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Crontab(read(t, "crontab/"+name), o)
			require.NoError(t, err)
			golden(t, r, "crontab/"+name)
		})
	}
}

// Each line with a command has a job or a finding with its number.
func TestCrontabReportsEachLine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"debian_system", "cron_d", "user"} {
		text := string(read(t, "crontab/"+name))
		r, err := Crontab([]byte(text), Options{Now: now})
		require.NoError(t, err)
		number := 0
		for line := range strings.Lines(text) {
			number++
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			element := cronElement(number)
			scheduled := slices.ContainsFunc(r.Jobs, func(j Job) bool {
				return slices.ContainsFunc(j.Schedules, func(s Schedule) bool { return s.Name == element })
			})
			reported := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Element == element || strings.HasPrefix(f.Element, element+" ") })
			require.True(t, scheduled || reported, "%s %s", name, element)
		}
	}
}

func TestCrontabParts(t *testing.T) {
	t.Parallel()
	r, err := Crontab(read(t, "crontab/user"), Options{Now: now, Server: "sql0"})
	require.NoError(t, err)

	nightly := jobOf(t, r, "sqlcmd")
	require.Len(t, nightly.Schedules, 2, "two lines with one command are one job")
	require.Equal(t, "EXEC dbo.Nightly", nightly.Steps[0].Command)
	require.Equal(t, TargetGroup{"sql1.example.com,1433/shop", "sql1.example.com,1433", "shop"}, nightly.Steps[0].TargetGroup)
	require.Equal(t, []string{"2026-06-16T02:00:00Z"}, due(t, nightly.Schedules[0], 1))
	found(t, r, ToSet, "sqlcmd", "line 8", "login and a password")

	books := jobOf(t, r, "sqlcmd line 11")
	require.Equal(t, "America/New_York", books.Schedules[0].Zone)
	require.Equal(t, 60, books.Steps[0].Timeout, "the shorter of -t and timeout")
	require.True(t, strings.HasPrefix(books.Steps[0].Command, "SET QUOTED_IDENTIFIER OFF;\nUPDATE dbo.Day"))

	purge := jobOf(t, r, "purge")
	require.Equal(t, "Skip", purge.Schedules[0].Overlap, "flock -n")
	require.Equal(t, "UTC", purge.Schedules[0].Zone, "an empty CRON_TZ is the machine's zone")
	require.Equal(t, TargetGroup{"sql0/shop", "sql0", "shop"}, purge.Steps[0].TargetGroup)
	require.Contains(t, purge.Steps[0].Command, "/opt/sql/purge.sql")

	backup := jobOf(t, r, "run.sh")
	require.Equal(t, action.TypeProcess, backup.Steps[0].Type)
	require.Regexp(t, `^\d+ 5 \* \* \*$`, backup.Schedules[0].Spec)
	minute, err := strconv.Atoi(strings.Fields(backup.Schedules[0].Spec)[0])
	require.NoError(t, err)
	require.LessOrEqual(t, minute, 29)

	weekly := jobOf(t, r, "psql")
	require.Equal(t, `{"cron":"@weekly","jitter":"45m"}`, weekly.Schedules[0].Spec)
	require.Empty(t, jobOf(t, r, "beat").Schedules[1:], "an interval of seconds has no counterpart")
	found(t, r, Lost, "", "line 20", "no command")
	found(t, r, Lost, "", "line 21", "more than five fields")

	files := Options{Now: now, Script: func(name string) (string, bool, error) {
		switch name {
		case "/opt/sql/purge.sql":
			return "DELETE dbo.Old;\nGO\nPRINT 'x';", true, nil
		}
		return "", false, nil
	}}
	r, err = Crontab([]byte("* * * * * cd /opt/sql && sqlcmd -S a -d b -i purge.sql\n@daily sqlcmd -S a -d b -i other.sql\n"), files)
	require.NoError(t, err)
	require.Equal(t, "DELETE dbo.Old;\nGO\nPRINT 'x';", r.Jobs[0].Steps[0].Command)
	found(t, r, Lost, "other", "line 2", "--scripts")
}

// A schedule that cron5 refuses is a comment in the script. Words that are no field are not shown.
func TestCrontabFaults(t *testing.T) {
	t.Parallel()
	r, err := Crontab([]byte("0 0 30 2 * /bin/true\n0 25 * * * /bin/true\nCRON_TZ=Mars/Base\n0 1 * * * /bin/true\n0 1 hush * * x\n0 1 * hush! * x\n@hush! x\n@sometimes /bin/x\n"+
		"0~59/5 1 * * * /bin/tilde\n"), Options{Now: now})
	require.NoError(t, err)
	noSecrets(t, r)
	for _, s := range jobOf(t, r, "true").Schedules {
		require.True(t, s.faulty, s.Spec)
	}
	found(t, r, Lost, "true", "line 1.cron", "matches none")
	found(t, r, Lost, "true", "line 2.cron.hour", "0 to 23")
	found(t, r, Lost, "true", "line 4.timeZone", "IANA")
	found(t, r, Lost, "", "line 5", "invalid third field")
	found(t, r, Lost, "", "line 6", "invalid fourth field")
	found(t, r, Lost, "", "line 7", "no such word")
	found(t, r, Lost, "x", "line 8", "@daily")
	found(t, r, Lost, "tilde", "line 9.cron.minute", "~")
	require.Contains(t, r.Script(), "-- Not created, because of the faults above:")

	r, err = Crontab([]byte("* * * * * sqlcmd -S s -P hush\n* * * * * root -q x\nCRON_TZ=:Japan\n* * * * * /bin/x y\n* * * * * root\n0 1 * * * root y"), Options{Now: now, Crontab: CrontabSystem})
	require.NoError(t, err)
	noSecrets(t, r)
	found(t, r, Lost, "", "line 1", "begins with an option")
	found(t, r, Lost, "", "line 4", "not the name of a user")
	found(t, r, Lost, "", "line 5", "no command behind the user")
	found(t, r, Note, "", "line 6", "no line break")
	require.Equal(t, "Japan", jobOf(t, r, "y").Schedules[0].Zone)
	require.Equal(t, []string{"2026-06-15T16:00:00Z"}, due(t, jobOf(t, r, "y").Schedules[0], 1))

	// Each line with a command keeps the variables above it.
	_, err = Crontab([]byte(strings.Repeat("X=1\n", maxCrontabVariables+1)+"* * * * * x\n"), Options{Now: now, Crontab: CrontabUser})
	require.ErrorContains(t, err, "at most 100")
}

// Commands of which it is not certain what they do are not taken for T-SQL.
func TestCrontabCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{ // the command of the step, or empty for one to write
		`sqlcmd -S s -d d -Q "SELECT 1"`:                                            "SELECT 1",
		`sqlcmd -Ss -dd -Q"SELECT 1"`:                                               "SELECT 1",
		`sqlcmd -S s -d d -b -I -W -h -1 -s, -w 200 -Q 'SELECT "a"'`:                `SELECT "a"`,
		`/opt/mssql-tools/bin/sqlcmd -S s -d d -Q SELECT\ 1 # always`:               "SELECT 1",
		`exec sqlcmd -S s -d d -G -l 30 -Q "SELECT 1" 2>&1 >>/dev/null`:             "SELECT 1",
		`SQLCMDSERVER=s SQLCMDPASSWORD=hush sqlcmd -d d -Q 'SELECT 1'`:              "SELECT 1",
		`sqlcmd -S s -d d -U u -P $SECRET -Q "SELECT 1"`:                            "SELECT 1",
		`sqlcmd -S s -d d -q "SELECT 1"`:                                            "",
		`sqlcmd -S s -d d -Q "SELECT $(x)"`:                                         "",
		`sqlcmd -S s -d d -Q 'SELECT $(x)'`:                                         "",
		`sqlcmd -S s -d d -Q "SELECT $X"`:                                           "",
		`sqlcmd -S s -d d -Q "SELECT 1" | mail x`:                                   "",
		`sqlcmd -S s -d d -Q "SELECT 1"; rm x`:                                      "",
		`sqlcmd -S s -d d -Q "SELECT 1" && touch x`:                                 "",
		`sqlcmd -S s -d d -Q "SELECT 1" &`:                                          "",
		`sqlcmd -S s -d d -v a=b -Q "SELECT 1"`:                                     "",
		`sqlcmd -S s -d d -Q ":r x.sql"`:                                            "",
		`sqlcmd -S s -d d -Q "exit(SELECT 1)"`:                                      "",
		`sqlcmd -S s -d d -Q "SELECT 1" -Q "SELECT 2"`:                              "",
		`sqlcmd -S s -d d -bI -Q "SELECT 1"`:                                        "",
		`sqlcmd -S s -d d -Z hush -Q "SELECT 1"`:                                    "",
		`sqlcmd -S np:s -d d -Q "SELECT 1"`:                                         "",
		`sqlcmd -S s -d d -Q "SELECT 1`:                                             "",
		`sqlcmd -S s -d d < x.sql`:                                                  "",
		`sqlcmd -S s* -d d -Q "SELECT 1"`:                                           "",
		`sqlcmd -S s -d d -Q "SELECT 1"%stdin`:                                      "",
		`echo sqlcmd -S s -d d -Q "SELECT 1"`:                                       "",
		`sqlcmd`:                                                                    "",
		`sqlcmd -S s -d d -Q "SELECT 1" -t 60>/dev/null`:                            "",
		`sqlcmd -S s -d d -Q "SELECT 1">/dev/null`:                                  "SELECT 1",
		`timeout -k 5 60 nice -n 10 ionice -c2 -n 7 sqlcmd -S s -d d -Q "SELECT 1"`: "SELECT 1",
	} {
		r, err := Crontab([]byte("0 2 * * * "+command+"\n"), Options{Now: now, Crontab: CrontabUser})
		require.NoError(t, err, command)
		noSecrets(t, r)
		step := r.Jobs[0].Steps[0]
		if want == "" {
			require.Equal(t, action.TypeProcess, step.Type, command)
			require.Equal(t, 1, r.Count(Lost), command)
			continue
		}
		require.Equal(t, want, step.Command, command)
		require.Equal(t, TargetGroup{"s/d", "s", "d"}, step.TargetGroup, command)
		require.Zero(t, r.Count(Lost), command)
	}
}

// Whether lines have a user is decided only if it is certain.
func TestCrontabForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]CrontabForm{
		"* * * * * root touch /x\n@daily nobody ls\n":                      CrontabSystem,
		"# m h dom mon dow user\tcommand\n* * * * * backup run x\n":        CrontabSystem,
		"# m h  dom mon dow   command\n* * * * * backup run x\n":           CrontabUser,
		"* * * * * /usr/bin/touch x\n":                                     CrontabUser,
		"* * * * * backup\n":                                               CrontabUser,
		"* * * * * sqlcmd -S s -Q x\n":                                     CrontabUser,
		"* * * * * root touch x\n* * * * * X=1 y\n":                        CrontabUser,
		"* * * * * backup run x\n":                                         CrontabAny,
		"* * * * * root touch x\n* * * * * backup run x\n":                 CrontabAny,
		"@hourly operator -q newsyslog\n":                                  CrontabAny,
		"*/5 * * * * root -n -q /usr/libexec/atrun\n@daily root x --y z\n": CrontabSystem,
		"# m h dom mon dow user command\n* * * * * sqlcmd -S s -Q x\n":     CrontabAny,
		"# m h dom mon dow command\n* * * * * root touch x\n":              CrontabAny,
	} {
		c, err := readCrontab(text)
		require.NoError(t, err)
		form, err := c.form()
		require.Equal(t, want, form, text)
		if want == CrontabAny {
			require.ErrorContains(t, err, "--system", text)
			_, err = Crontab([]byte(text), Options{Now: now})
			require.Error(t, err, text)
		} else {
			require.NoError(t, err, text)
		}
	}
}

// Texts that are not crontabs are named. No error quotes the text.
func TestNotACrontab(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "no line",
		"# nothing\n\nA=hush": "no line",
		"START_HOURS_RANGE=3-22\nRANDOM_DELAY=45\n1\t5\tcron.daily\tnice run-parts /etc/cron.daily\n@monthly 45 cron.monthly nice run-parts hush\n": "anacrontab",
		"apiVersion: batch/v1\nkind: CronJob\n":              "import kubernetes",
		"[Unit]\nDescription=hush\n":                         "OnCalendar",
		"BEGIN:VCALENDAR\n":                                  "import icalendar",
		"<?xml version=\"1.0\"?>\n":                          "import task-scheduler",
		"{\"a\": 1}":                                         "JSON",
		strings.Repeat("* * * * * x y\n", maxCrontabLines+1): "at most 5000",
	} {
		_, err := Crontab([]byte(text), Options{Now: now})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestCronAssignment(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`A=b`: "A|b", `A = b c  `: "A|b c", `A="b c " `: "A|b c ", `"A"='b'`: "A|b", `A=`: "A|", `A="b" c`: "", `A b=c`: "", `* * * * * a=b`: "", `A`: "", `="x"`: "", `A="b`: "",
		`@daily A=b`: "", `0=1`: "0|1",
	} {
		name, value, ok := cronAssignment(line)
		if want == "" {
			require.False(t, ok, line)
		} else {
			require.Equal(t, want, name+"|"+value, line)
		}
	}
}

// The instants of an imported line are those of a second reader, which knows crontab(5) and walks
// over the minutes with package time.
func TestCrontabInstants(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(18, 4))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}
	for range 300 {
		line := randomCronLine(random)
		zone := zones[random.IntN(len(zones))]
		r, err := Crontab([]byte("CRON_TZ="+zone+"\n"+line+" /bin/true\n"), Options{Now: now})
		require.NoError(t, err)
		s := r.Jobs[0].Schedules[0]
		require.False(t, s.faulty, "%s", line)
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		from := time.Date(2026, time.Month(1+random.IntN(12)), 1+random.IntN(28), 0, 0, 0, 0, time.UTC)
		if random.IntN(2) == 0 { // around changes of clocks
			from = []time.Time{time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC),
				time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 6, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 6, 0, 0, 0, time.UTC)}[random.IntN(6)]
		}
		until := from.AddDate(0, 0, 3)
		plan, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone, Created: from})
		require.NoError(t, err)
		var got []string
		for at, ok := plan.Next(from.Add(-time.Second)); ok && at.Before(until); at, ok = plan.Next(at) {
			got = append(got, at.Format(time.RFC3339))
		}
		require.Equal(t, cronWalk(t, line, location, from, until), got, "%s %s from %s", line, zone, from)
	}
}

// randomCronLine returns five fields.
func randomCronLine(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	n := func(low, high int) string { return strconv.Itoa(low + random.IntN(high-low+1)) }
	return strings.Join([]string{
		pick("*", "*/15", n(0, 59), n(0, 29)+","+n(30, 59), "0-45/15", n(0, 20)+"-"+n(21, 59)+"/"+n(1, 20)),
		pick("*", "*/2", n(0, 4), n(0, 23), "1-4", n(0, 2)+","+n(3, 5), "0-23/3"),
		pick("*", "*", "*/2", n(1, 28), "1-15,25-31"), pick("*", "*", "*", "1-6", "mar,oct,nov", "*/2"),
		pick("*", "*", n(0, 7), "mon-fri", "fri-7", "*/2", "sat,0"),
	}, " ")
}

// cronWalk returns the instants of a line between two instants. A line whose minute or hour
// begins with a star runs at each minute that matches; any other runs once, after a gap by its
// length later (D-Z6).
func cronWalk(t *testing.T, line string, location *time.Location, from, until time.Time) []string {
	t.Helper()
	fields := strings.Fields(line)
	names := map[string]int{"mar": 3, "oct": 10, "nov": 11, "sun": 0, "mon": 1, "fri": 5, "sat": 6}
	value := func(text string) int {
		if n, known := names[text]; known {
			return n
		}
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	sets := make([]map[int]bool, 5)
	for i, high := range []int{59, 23, 31, 12, 7} {
		sets[i] = map[int]bool{}
		for item := range strings.SplitSeq(fields[i], ",") {
			body, stepText, stepped := strings.Cut(item, "/")
			step := 1
			if stepped {
				step = value(stepText)
			}
			low, top := []int{0, 0, 1, 1, 0}[i], high
			if body != "*" {
				a, b, isRange := strings.Cut(body, "-")
				low = value(a)
				top = low
				if isRange {
					top = value(b)
				}
			} else if i == 4 {
				top = 6
			}
			for v := low; v <= top; v += step {
				sets[i][v] = true
			}
		}
	}
	sets[4][0] = sets[4][0] || sets[4][7]
	matches := func(wall time.Time) bool {
		dom, dow := sets[2][wall.Day()], sets[4][int(wall.Weekday())]
		day := dom && dow
		if fields[2][0] != '*' && fields[4][0] != '*' {
			day = dom || dow
		}
		return sets[0][wall.Minute()] && sets[1][wall.Hour()] && day && sets[3][int(wall.Month())]
	}
	due := map[time.Time]bool{}
	if fields[0][0] == '*' || fields[1][0] == '*' {
		for at := from; at.Before(until); at = at.Add(time.Minute) {
			if matches(at.In(location)) {
				due[at] = true
			}
		}
	} else {
		for wall := from.AddDate(0, 0, -2); wall.Before(until.AddDate(0, 0, 2)); wall = wall.Add(time.Minute) { // clock times, written as UTC
			if !matches(wall) {
				continue
			}
			// the earliest instant at which the zone's clock shows this, or the offset before a
			// gap
			_, before := wall.Add(-14 * time.Hour).In(location).Zone()
			_, after := wall.Add(14 * time.Hour).In(location).Zone()
			at := wall.Add(-time.Duration(before) * time.Second)
			for _, offset := range []int{max(before, after), min(before, after)} {
				try := wall.Add(-time.Duration(offset) * time.Second)
				if shown := try.In(location); shown.Hour() == wall.Hour() && shown.Minute() == wall.Minute() {
					at = try
					break
				}
			}
			due[at] = true
		}
	}
	var list []string
	for at := range due {
		if !at.Before(from) && at.Before(until) {
			list = append(list, at.Format(time.RFC3339))
		}
	}
	slices.Sort(list)
	return list
}

// FuzzCrontab: no text is read for long, no job has a fault that Script does not know, and no
// secret is shown.
func FuzzCrontab(f *testing.F) {
	for _, name := range []string{"debian_system", "cron_d", "user"} {
		text, err := os.ReadFile(filepath.Join("testdata", "crontab", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint8(0))
	}
	f.Add("0 2 * * * sqlcmd -S s -d d -U u -P hush -Q \"SELECT 1\"", uint8(1))
	f.Add("0~5 2 * * * root a%b\\%c", uint8(2))
	f.Add("A='x'\n@daily $A 'b' \"$A\\\"\"", uint8(1))
	f.Fuzz(func(t *testing.T, text string, form uint8) {
		o := Options{Now: now, Crontab: []CrontabForm{CrontabAny, CrontabUser, CrontabSystem}[form%3]}
		var r *Result
		var err error
		var script string
		bounds.Allocations(t, len(text), fuzzFixed, fuzzPerByte, func() {
			if r, err = Crontab([]byte(text), o); err == nil {
				script = r.Script()
			}
		})
		if err != nil {
			require.NotContains(t, err.Error(), "hush")
			return
		}
		for _, j := range r.Jobs {
			require.NotEmpty(t, j.Steps)
			for _, s := range j.Schedules {
				_, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone, Created: now})
				require.Equal(t, s.faulty, err != nil, "%s", s.Spec)
				var faults *schedule.Error
				require.True(t, err == nil || errors.As(err, &faults))
			}
		}
		require.Contains(t, script, fmt.Sprintf("%s, ", wording.Count(len(r.Jobs), "job")))
	})
}
