package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// options are the SET options of a session. The end of a procedure reverts its changes.
type options struct {
	ansiNulls            bool
	ansiPadding          bool
	ansiWarnings         bool
	ansiNullDefaultOn    bool
	ansiNullDefaultOff   bool
	arithAbort           bool
	arithIgnore          bool
	concatNullYieldsNull bool
	cursorCloseOnCommit  bool
	forcePlan            bool
	implicitTransactions bool
	noCount              bool
	noExec               bool
	numericRoundAbort    bool
	parseOnly            bool
	quotedIdentifier     bool
	showPlan             bool // SHOWPLAN_XML
	xactAbort            bool
	fmtOnly              bool
	browse               bool // NO_BROWSETABLE

	rowCount         int64 // SET ROWCOUNT; 0 means no limit
	textSize         int   // bytes
	dateFirst        int   // 1 is Monday, 7 is Sunday
	locale           types.Locale
	lockTimeout      int // milliseconds; -1 means no limit
	deadlockPriority int // -10 to 10
	isolation        syntax.Isolation
	contextInfo      []byte
	identityInsert   *identityInsert
}

// identityInsert is the table for which IDENTITY_INSERT is ON. There is at most one in a session.
type identityInsert struct {
	database int
	object   int32
	name     string // as in message 8107
}

// defaultOptions returns the options after the login of a current driver.
func defaultOptions() options {
	return options{
		ansiNulls: true, ansiPadding: true, ansiWarnings: true, ansiNullDefaultOn: true, arithAbort: true,
		concatNullYieldsNull: true, quotedIdentifier: true,
		textSize: 2147483647, dateFirst: 7, lockTimeout: -1, isolation: syntax.ReadCommitted,
	}
}

// setLanguage sets the language and what follows from it: DATEFORMAT and DATEFIRST.
func (o *options) setLanguage(l *types.Language) { o.locale, o.dateFirst = l.Locale(), l.FirstDay }

// toggle is an ON/OFF option: its field, its bit in @@OPTIONS, and the only supported value if not
// both are supported.
type toggle struct {
	get  func(o *options) *bool
	bit  int
	only *bool
}

var (
	onlyOn  = ptr(true)
	onlyOff = ptr(false)
)

// ptr returns a pointer to a copy of v.
func ptr[T any](v T) *T { return &v }

// toggles are the ON/OFF options by name. The bits are those of the server option "user options".
var toggles = map[string]toggle{
	"ANSI_NULLS":                  {func(o *options) *bool { return &o.ansiNulls }, 32, onlyOn},
	"ANSI_PADDING":                {func(o *options) *bool { return &o.ansiPadding }, 16, onlyOn},
	"ANSI_WARNINGS":               {func(o *options) *bool { return &o.ansiWarnings }, 8, nil},
	"ANSI_NULL_DFLT_ON":           {func(o *options) *bool { return &o.ansiNullDefaultOn }, 1024, nil},
	"ANSI_NULL_DFLT_OFF":          {func(o *options) *bool { return &o.ansiNullDefaultOff }, 2048, nil},
	"ARITHABORT":                  {func(o *options) *bool { return &o.arithAbort }, 64, nil},
	"ARITHIGNORE":                 {func(o *options) *bool { return &o.arithIgnore }, 128, nil},
	"CONCAT_NULL_YIELDS_NULL":     {func(o *options) *bool { return &o.concatNullYieldsNull }, 4096, onlyOn},
	"CURSOR_CLOSE_ON_COMMIT":      {func(o *options) *bool { return &o.cursorCloseOnCommit }, 4, nil},
	"FORCEPLAN":                   {func(o *options) *bool { return &o.forcePlan }, 0, nil},
	"IMPLICIT_TRANSACTIONS":       {func(o *options) *bool { return &o.implicitTransactions }, 2, nil},
	"NOCOUNT":                     {func(o *options) *bool { return &o.noCount }, 512, nil},
	"NOEXEC":                      {func(o *options) *bool { return &o.noExec }, 0, nil},
	"NUMERIC_ROUNDABORT":          {func(o *options) *bool { return &o.numericRoundAbort }, 8192, onlyOff},
	"PARSEONLY":                   {func(o *options) *bool { return &o.parseOnly }, 0, nil},
	"QUOTED_IDENTIFIER":           {func(o *options) *bool { return &o.quotedIdentifier }, 256, nil},
	"XACT_ABORT":                  {func(o *options) *bool { return &o.xactAbort }, 16384, nil},
	"FMTONLY":                     {func(o *options) *bool { return &o.fmtOnly }, 0, nil},
	"DISABLE_DEF_CNST_CHK":        {nil, 0, onlyOff},
	"REMOTE_PROC_TRANSACTIONS":    {nil, 0, onlyOff},
	"SHOWPLAN_ALL":                {nil, 0, onlyOff},
	"SHOWPLAN_TEXT":               {nil, 0, onlyOff},
	"SHOWPLAN_XML":                {func(o *options) *bool { return &o.showPlan }, 0, nil},
	"RESULT_SET_CACHING":          {nil, 0, onlyOff},
	"NO_BROWSETABLE":              {func(o *options) *bool { return &o.browse }, 0, nil},
	"OFFSETS":                     {nil, 0, onlyOff},
	"ROWGUID_RESULTS":             {nil, 0, onlyOff},
	"MEMORY_OPTIMIZED_ELEVATE":    {nil, 0, nil},
	"STATISTICS_INCREMENTAL_AUTO": {nil, 0, nil},
}

// setFlag executes SET name ON|OFF.
func (o *options) setFlag(name string, on bool) error {
	if name == "ANSI_DEFAULTS" {
		for _, n := range []string{
			"ANSI_NULLS", "ANSI_NULL_DFLT_ON", "ANSI_PADDING", "ANSI_WARNINGS", "CURSOR_CLOSE_ON_COMMIT",
			"IMPLICIT_TRANSACTIONS", "QUOTED_IDENTIFIER",
		} {
			if err := o.setFlag(n, on); err != nil {
				return err
			}
		}
		return nil
	}
	f, ok := toggles[name]
	if !ok {
		return mserr.UnknownOption(name, "SET")
	}
	if f.only != nil && *f.only != on {
		state := "OFF"
		if on {
			state = "ON"
		}
		return mserr.NotSupported("SET %s %s", name, state)
	}
	// With both OFF arithmetic errors would give NULL, even in columns that are NOT NULL.
	if !on && (name == "ARITHABORT" && !o.ansiWarnings || name == "ANSI_WARNINGS" && !o.arithAbort) {
		return mserr.NotSupported("SET ARITHABORT OFF together with SET ANSI_WARNINGS OFF")
	}
	if f.get != nil {
		*f.get(o) = on
	}
	switch {
	case name == "ANSI_NULL_DFLT_ON" && on:
		o.ansiNullDefaultOff = false
	case name == "ANSI_NULL_DFLT_OFF" && on:
		o.ansiNullDefaultOn = false
	}
	return nil
}

// wrongForIndexes returns the options whose values do not allow changes of tables with indexes on
// computed columns or filtered indexes, in the order of message 1934. It returns "" if there are
// none. ARITHABORT is never wrong: ANSI_WARNINGS ON implies ARITHABORT ON, and setFlag does not
// allow both to be OFF
// (https://learn.microsoft.com/sql/t-sql/statements/set-statements-transact-sql#considerations-when-you-use-the-set-statements).
// The other options of that list always have the right value here.
func (o *options) wrongForIndexes() string {
	if o.quotedIdentifier && o.ansiWarnings {
		return ""
	}
	var names []string
	if !o.quotedIdentifier {
		names = append(names, "QUOTED_IDENTIFIER")
	}
	if !o.ansiWarnings {
		names = append(names, "ANSI_WARNINGS")
	}
	return strings.Join(names, ", ")
}

// checkIndexOptions returns error 1934 if the options of the session do not allow verb for a table
// with its indexes.
func (s *Session) checkIndexOptions(verb string, t *catalog.Table) error {
	names := s.opts.wrongForIndexes()
	if names == "" || !t.NeedsOptions() {
		return nil
	}
	return mserr.WrongOptions(verb, names)
}

// enterModule sets the options that are stored with a module. They last until the end of the
// module's activation
// (https://learn.microsoft.com/sql/t-sql/statements/set-quoted-identifier-transact-sql).
func (s *Session) enterModule(m *catalog.Module) {
	s.opts.quotedIdentifier, s.opts.ansiNulls = m.QuotedIdentifier, m.AnsiNulls
}

// mask returns @@OPTIONS.
func (o *options) mask() int {
	m := 0
	for _, f := range toggles {
		if f.get != nil && *f.get(o) {
			m |= f.bit
		}
	}
	return m
}

// sessionOptions returns the options for the views of sessions.
func (o *options) sessionOptions() sysviews.SessionOptions {
	return sysviews.SessionOptions{
		Isolation: int(o.isolation), LockTimeout: int64(o.lockTimeout), DeadlockPriority: o.deadlockPriority,
		TextSize: int64(o.textSize), DateFirst: o.dateFirst,
		Language: types.LanguageOf(o.locale).Name, DateFormat: o.locale.Order.String(), ContextInfo: o.contextInfo,
		QuotedIdentifier: o.quotedIdentifier, ArithAbort: o.arithAbort,
		AnsiNullDefault: o.ansiNullDefaultOn, AnsiWarnings: o.ansiWarnings, AnsiPadding: o.ansiPadding,
		AnsiNulls: o.ansiNulls, ConcatNull: o.concatNullYieldsNull,
		CursorClose: o.cursorCloseOnCommit, Implicit: o.implicitTransactions,
	}
}
