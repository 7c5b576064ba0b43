package mssql

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// Preflight has the requirements of a script on its target, from mode_options of the run: a JSON
// object. The zero value has the defaults.
type Preflight struct {
	// Rights are permissions on the database, such as ALTER or CREATE TABLE.
	Rights []string `json:"rights"`
	// MinVersion is a major version of SQL Server, such as 15; MinCompatibility is a compatibility
	// level, such as 150.
	MinVersion       int `json:"min_version"`
	MinCompatibility int `json:"min_compatibility"`
	// MinLogMB and MinDataMB are the space that must be free in the files of the log and of the
	// data, growth included. The free space of the disk is not known.
	MinLogMB  int64 `json:"min_log_mb"`
	MinDataMB int64 `json:"min_data_mb"`
	// MaxTransactionSeconds is how old an open transaction of another session may be; 0 means
	// [defaultTransactionSeconds].
	MaxTransactionSeconds int64 `json:"max_transaction_seconds"`
	// Warn and Refuse name checks whose findings are warnings, or failures, instead of their
	// defaults.
	Warn   []string `json:"warn"`
	Refuse []string `json:"refuse"`
}

// defaultTransactionSeconds is the default of MaxTransactionSeconds.
const defaultTransactionSeconds = 600

// maxRights bounds the rights of a preflight.
const maxRights = 50

// checks are the checks of a preflight, with the level of their findings. A target that cannot be
// reached fails before them.
var checks = []struct {
	name, level string
}{
	{"state", targets.LevelFailure},
	{"writable", targets.LevelFailure},
	{"version", targets.LevelFailure},
	{"compatibility", targets.LevelFailure},
	{"rights", targets.LevelFailure},
	{"log_space", targets.LevelFailure},
	{"data_space", targets.LevelFailure},
	{"blocking", targets.LevelWarning},
	{"transactions", targets.LevelWarning},
}

// ParsePreflight reads mode_options of a preflight; empty means the defaults.
func ParsePreflight(text string) (*Preflight, error) {
	p := &Preflight{}
	if strings.TrimSpace(text) == "" {
		return p, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("the needs of the preflight: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the needs of the preflight: want one JSON object")
	}
	if len(p.Rights) > maxRights {
		return nil, fmt.Errorf("the needs of the preflight: want at most %d rights, not %d", maxRights, len(p.Rights))
	}
	for _, name := range slices.Concat(p.Warn, p.Refuse) {
		if p.levelOf(name) == "" {
			return nil, fmt.Errorf("the needs of the preflight: unknown check %q", wording.Clip(name, 40, wording.Bytes))
		}
	}
	return p, nil
}

// levelOf returns the level of a finding of a check; empty means that there is no such check.
func (p *Preflight) levelOf(check string) string {
	for _, c := range checks {
		switch {
		case c.name != check:
			continue
		case slices.Contains(p.Refuse, check):
			return targets.LevelFailure
		case slices.Contains(p.Warn, check):
			return targets.LevelWarning
		}
		return c.level
	}
	return ""
}

// preflightText reads the state of the database.
//
//go:embed preflight.sql
var preflightText string

// query returns the batch. The names of rights are literals in it. NULL stands for the current
// database: HAS_PERMS_BY_NAME would read a name with a dot as several parts.
func (p *Preflight) query() string {
	var b strings.Builder
	for _, right := range p.Rights {
		name := StringValue(right).literal()
		fmt.Fprintf(&b, "IF COALESCE(HAS_PERMS_BY_NAME(NULL, N'DATABASE', %s), 0) = 0 SET @missing = CONCAT(@missing, N', ', %s);\n", name, name)
	}
	return strings.Replace(preflightText, "$(rights)\n", b.String(), 1)
}

// PreflightError means that a target does not meet the requirements of the script.
type PreflightError struct{ Failures []targets.Finding }

// Error implements error.
func (e *PreflightError) Error() string { return "Preflight: " + listed(e.Failures) }

// listed writes findings as a sentence.
func listed(list []targets.Finding) string {
	texts := make([]string, 0, len(list))
	for _, f := range list {
		texts = append(texts, f.Check+": "+f.Text)
	}
	return strings.Join(texts, "; ") + "."
}

// preflight checks the target. No part of the script is sent.
func (t *attempt) preflight(ctx context.Context, s *session) error {
	defer cutAfter(ctx, s.wire, ackWait)()
	var row [15]driver.Value
	if err := s.row(ctx, t.Preflight.query(), row[:]); err != nil {
		return causeOr(ctx, fmt.Errorf("the checks of the preflight: %w", err))
	}
	findings := t.Preflight.judge(row[:])
	t.messages.add(targets.Report{Preflight: findings})
	var failures, warnings []targets.Finding
	for _, f := range findings {
		switch f.Level {
		case targets.LevelFailure:
			failures = append(failures, f)
		case targets.LevelWarning:
			warnings = append(warnings, f)
		}
	}
	if len(failures) > 0 {
		return &PreflightError{failures}
	}
	t.tried = "Preflight: nothing was found."
	if len(warnings) > 0 {
		t.tried = "Preflight: " + wording.Count(len(warnings), "warning") + ": " + listed(warnings)
	}
	return nil
}

// judge compares the row of preflight.sql with the requirements of the script.
func (p *Preflight) judge(row []driver.Value) []targets.Finding {
	text := func(i int) string { s, _ := row[i].(string); return s }
	number := func(i int) int64 { n, _ := row[i].(int64); return n }
	var found []targets.Finding
	add := func(check string, bad bool, format string, args ...any) {
		level := targets.LevelOK
		if bad {
			level = p.levelOf(check)
		}
		found = append(found, targets.Finding{Check: check, Level: level, Text: fmt.Sprintf(format, args...)})
	}
	// measured adds a finding about a figure, or the reason why the figure could not be read. The
	// latter is a failure only if the script needs the figure.
	measured := func(check string, at int, needed, bad bool, format string, args ...any) {
		if problem := text(at + 1); problem != "" || row[at] == nil && needed {
			level := targets.LevelWarning
			if needed {
				level = p.levelOf(check)
			}
			found = append(found, targets.Finding{Check: check, Level: level, Text: strings.TrimSuffix("it could not be read: "+problem, ": ")})
			return
		}
		add(check, bad, format, args...)
	}
	status, access := text(0), text(1)
	add("state", status != "ONLINE" || access == "SINGLE_USER", "the database is %s, %s", status, access)
	switch {
	case row[3] != nil && number(3) == 0:
		add("writable", true, "the database is not the primary replica")
	default:
		add("writable", text(2) != "READ_WRITE", "the database is %s", text(2))
	}
	major, _, _ := strings.Cut(text(4), ".")
	version, err := strconv.Atoi(major)
	if p.MinVersion > 0 {
		add("version", err != nil || version < p.MinVersion, "the version is %s, and the script needs %d", text(4), p.MinVersion)
	} else {
		add("version", false, "the version is %s", text(4))
	}
	if p.MinCompatibility > 0 {
		add("compatibility", number(5) < int64(p.MinCompatibility), "the compatibility level is %d, and the script needs %d", number(5), p.MinCompatibility)
	} else {
		add("compatibility", false, "the compatibility level is %d", number(5))
	}
	if missing := strings.TrimPrefix(text(6), ", "); missing != "" {
		add("rights", true, "the login lacks %s", missing)
	} else {
		add("rights", false, "the login has the rights that are needed: %s", wording.Count(len(p.Rights), "right"))
	}
	measured("log_space", 7, p.MinLogMB > 0, number(7) < p.MinLogMB, "%d MB can be used, and the script needs %d", number(7), p.MinLogMB)
	measured("data_space", 9, p.MinDataMB > 0, number(9) < p.MinDataMB, "%d MB can be used, and the script needs %d", number(9), p.MinDataMB)
	refused := func(check string) bool { return slices.Contains(p.Refuse, check) }
	measured("blocking", 11, refused("blocking"), number(11) > 0, "%s", blockedText(number(11)))
	limit := p.MaxTransactionSeconds
	if limit == 0 {
		limit = defaultTransactionSeconds
	}
	if row[13] == nil && text(14) == "" {
		add("transactions", false, "no other session has an open transaction that has written")
	} else {
		measured("transactions", 13, refused("transactions"), number(13) > limit, "the oldest open transaction began %d s ago; the limit is %d s", number(13), limit)
	}
	return found
}

func blockedText(n int64) string {
	if n == 0 {
		return "no request is blocked"
	}
	return wording.Count(n, "request") + wording.Plural(n, " is", " are") + " blocked by others"
}
