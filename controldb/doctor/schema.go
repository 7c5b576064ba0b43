package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// index is an index, either as the schema's files declare it or as the database has it.
type index struct {
	table, name string
	unique      bool
	disabled    bool
	keys        string // columns in order, as "a, b desc"
	included    string // columns in the order of their names
	filter      string // normalised by plainFilter
	text        string // the CREATE or ALTER statement without the semicolon; only from the files
	constraint  bool   // belongs to a PRIMARY KEY or UNIQUE constraint; only from the files
}

// same reports whether two indexes are equivalent.
func (x index) same(y index) bool {
	return x.unique == y.unique && x.keys == y.keys && x.included == y.included && x.filter == y.filter
}

var (
	indexDeclaration = regexp.MustCompile(
		`(?m)^CREATE (UNIQUE )?INDEX (\w+) ON ([\w.]+) \(([^)]*)\)(?:\s+INCLUDE \(([^)]*)\))?(?:\s+WHERE ([^;]*))?;`,
	)
	constraintDeclaration = regexp.MustCompile(`(?m)^\s*CONSTRAINT (\w+) (PRIMARY KEY|UNIQUE) \(([^)]*)\)(?: (WITH \([^)]*\)))?`)
	tableDeclaration      = regexp.MustCompile(`(?m)^CREATE TABLE ([\w.]+) \(`)
	escalationDeclaration = regexp.MustCompile(`(?m)^ALTER TABLE ([\w.]+) SET \(LOCK_ESCALATION = (\w+)\);`)
)

// declared holds the indexes, constraints and options of tables in the schema's files.
type declared struct {
	indexes     []index
	constraints []constraint      // foreign keys and CHECK constraints
	escalation  map[string]string // table → option, of tables without the default
}

// declarations reads the schema's files once. A test compares the result with a fresh install.
var declarations = sync.OnceValues(func() (declared, error) {
	objects, err := sqlfs.Objects()
	d := declared{escalation: map[string]string{}}
	for _, o := range objects {
		if o.Kind != sqlfs.KindTable {
			continue
		}
		table := ""
		for _, part := range splitBefore(o.Text, tableDeclaration) { // a file may have more than one table
			if m := tableDeclaration.FindStringSubmatch(part); m != nil {
				table = m[1]
			}
			d.constraints = append(d.constraints, constraintsOf(table, part)...)
			for _, m := range constraintDeclaration.FindAllStringSubmatch(part, -1) {
				d.indexes = append(
					d.indexes,
					index{table: table, name: m[1], unique: true, keys: columnList(m[3]), constraint: true,
						text: constraintText(table, m[1], m[2], m[3], m[4])},
				)
			}
		}
		for _, m := range indexDeclaration.FindAllStringSubmatch(o.Text, -1) {
			included := strings.Split(columnList(m[5]), ", ")
			slices.Sort(included)
			d.indexes = append(d.indexes, index{table: m[3], name: m[2], unique: m[1] != "", keys: columnList(m[4]),
				included: strings.Join(included, ", "), filter: plainFilter(m[6]), text: strings.TrimSuffix(m[0], ";")})
		}
		for _, m := range escalationDeclaration.FindAllStringSubmatch(o.Text, -1) {
			d.escalation[m[1]] = m[2]
		}
	}
	return d, err
})

// splitBefore splits a text before each match.
func splitBefore(text string, at *regexp.Regexp) []string {
	var parts []string
	begin := 0
	for _, m := range at.FindAllStringIndex(text, -1) {
		parts = append(parts, text[begin:m[0]])
		begin = m[0]
	}
	return append(parts, text[begin:])
}

// columnList returns a list of columns in a normalised form.
func columnList(text string) string {
	var columns []string
	for c := range strings.SplitSeq(text, ",") {
		if c = strings.ToLower(strings.Join(strings.Fields(c), " ")); c != "" {
			columns = append(columns, strings.TrimSuffix(c, " asc"))
		}
	}
	return strings.Join(columns, ", ")
}

// plainFilter returns the predicate of a filtered index in a normalised form. The server adds
// brackets around names, parentheses around constants and around the whole predicate, and blanks.
func plainFilter(text string) string {
	return strings.ToLower(
		strings.NewReplacer("[", "", "]", "", "(", "", ")", "", " ", "", "\n", "", "\r", "", "\t", "", "N'", "'").
			Replace(text),
	)
}

// checkSchema compares the version and the code objects.
func checkSchema(ctx context.Context, e *examination) ([]Finding, error) {
	objects, migrations, err := installed.Embedded()
	if err != nil {
		return nil, err
	}
	const code = CodeSchema
	version, err := installed.ReadVersion(ctx, e.conn)
	switch {
	case errors.Is(err, dberror.ErrVersionHidden), errors.Is(err, dberror.ErrNoRole):
		return []Finding{good(code, "not checked: %v", err)}, nil
	case errors.Is(err, dberror.ErrNotInstalled):
		taken, err := ReadObjects(ctx, e.conn)
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			return []Finding{takenSchemasFinding(taken)}, nil
		}
		return []Finding{
			{
				Code:     code,
				Severity: SeverityError,
				Found:    "the control schema is not installed",
				Why:      "agents cannot work without it",
				Command:  "jobagent db install",
			},
		}, nil
	case err != nil:
		return nil, err
	}
	want := len(migrations)
	if version > want {
		return []Finding{
			{
				Code:     code,
				Severity: SeverityError,
				Found:    fmt.Sprintf("the control schema has version %d and this program needs %d", version, want),
				Why:      "this program does not know the later changes",
				Command:  "use a newer jobagent",
			},
		}, nil
	}
	deployed, err := installed.ReadObjects(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	c, err := installed.CompareObjects(ctx, e.conn, objects, deployed)
	if err != nil {
		return nil, err
	}
	f := Finding{
		Code:     code,
		Severity: SeverityWarning,
		Why:      "the program and its procedures were not tested together",
		Command:  "jobagent db migrate",
	}
	var tables []string
	for _, name := range c.Missing {
		if i := slices.IndexFunc(objects, func(o sqlfs.Object) bool { return o.Name == name }); i >= 0 &&
			!objects[i].Kind.IsCode() {
			tables = append(tables, name)
		}
	}
	switch {
	case len(tables) > 0:
		f.Severity, f.Found = SeverityError, fmt.Sprintf(
			"%s missing (%s)",
			wording.Count(len(tables), "table"),
			wording.First(tables),
		)
		f.Why, f.Command = "a table is lost with its rows", "restore the database from a backup"
	case version < want:
		f.Found = fmt.Sprintf("the control schema has version %d and this program needs %d", version, want)
	case len(c.Missing) > 0:
		f.Severity, f.Why = SeverityError, "calls of what is missing fail"
		f.Found = fmt.Sprintf("%s missing (%s)", wording.Count(len(c.Missing), "object"), wording.First(c.Missing))
	case len(c.Changed) > 0:
		f.Found = fmt.Sprintf(
			"%s not as this program deploys them (%s)",
			wording.Count(len(c.Changed), "object"),
			wording.First(c.Changed),
		)
	default:
		f = good(code, "the control schema is version %d, without differences", version)
	}
	return []Finding{f}, nil
}

// checkModuleOptions checks the SET options that the server stores with a module.
func checkModuleOptions(ctx context.Context, e *examination) ([]Finding, error) {
	names, err := call.SelectRows[string](ctx, e.conn, Text("module_options"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return []Finding{good(CodeModuleOptions, "all modules have QUOTED_IDENTIFIER and ANSI_NULLS on")}, nil
	}
	return []Finding{{Code: CodeModuleOptions, Severity: SeverityError,
		Found: fmt.Sprintf(
			"%s with QUOTED_IDENTIFIER or ANSI_NULLS off (%s)",
			wording.Count(len(names), "module"),
			wording.First(names),
		),
		Why: "changes of tables with filtered indexes fail in them (error 1934)", Command: "jobagent db migrate"}}, nil
}

// checkIndexes compares the indexes and constraints with those of the schema's files.
func checkIndexes(ctx context.Context, e *examination) ([]Finding, error) {
	want, err := declarations()
	if err != nil {
		return nil, err
	}
	have, err := readIndexes(ctx, e)
	if err != nil {
		return nil, err
	}
	var found []Finding
	online := e.database.Online()
	report := func(x index, what, sql string) {
		found = append(
			found,
			Finding{
				Code:     CodeIndexes,
				Severity: SeverityWarning,
				Found:    fmt.Sprintf("index %s of %s %s", x.name, x.table, what),
				Why:      "each pass reads and locks the whole table instead, which takes longer as the history grows",
				SQL:      sql,
			},
		)
	}
	for _, w := range want.indexes {
		h, ok := have[strings.ToLower(w.table+"."+w.name)]
		switch {
		case !ok:
			report(w, "is missing", fixIndex(w, false, false, online))
		case !w.same(h):
			report(w, "is not as declared", fixIndex(w, true, false, online))
		case h.disabled:
			report(w, "is disabled", fixIndex(w, true, true, online))
		}
	}
	constraints, err := checkConstraints(ctx, e, want.constraints)
	if err != nil {
		return nil, err
	}
	found = append(found, constraints...)
	if len(found) == 0 {
		found = append(
			found,
			good(CodeIndexes, "all %d indexes are there, and all constraints hold", len(want.indexes)),
		)
	}
	return found, nil
}

// readIndexes reads the indexes, by lower-case table and name.
func readIndexes(ctx context.Context, e *examination) (map[string]index, error) {
	rows, err := call.SelectRows[struct {
		Table      string `db:"table_name"`
		Name       string `db:"index_name"`
		Unique     bool   `db:"is_unique"`
		Disabled   bool   `db:"is_disabled"`
		Filter     string `db:"filter_definition"`
		Column     string `db:"column_name"`
		Descending bool   `db:"is_descending_key"`
		Included   bool   `db:"is_included_column"`
	}](ctx, e.conn, Text("indexes"))
	if err != nil {
		return nil, err
	}
	all := map[string]index{}
	included := map[string][]string{}
	for _, r := range rows {
		key := strings.ToLower(r.Table + "." + r.Name)
		x, ok := all[key]
		if !ok {
			x = index{
				table:    r.Table,
				name:     r.Name,
				unique:   r.Unique,
				disabled: r.Disabled,
				filter:   plainFilter(r.Filter),
			}
		}
		column := strings.ToLower(r.Column)
		if r.Included {
			included[key] = append(included[key], column)
			slices.Sort(included[key])
			x.included = strings.Join(included[key], ", ")
		} else {
			if r.Descending {
				column += " desc"
			}
			if x.keys != "" {
				x.keys += ", "
			}
			x.keys += column
		}
		all[key] = x
	}
	return all, nil
}

// checkLockEscalation checks the option of tables in which one statement may lock thousands of
// rows.
func checkLockEscalation(ctx context.Context, e *examination) ([]Finding, error) {
	want, err := declarations()
	if err != nil {
		return nil, err
	}
	rows, err := call.SelectRows[struct {
		Table      string `db:"table_name"`
		Escalation string `db:"lock_escalation_desc"`
	}](ctx, e.conn, Text("tables"))
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, r := range rows {
		if option := want.escalation[r.Table]; option != "" && option != r.Escalation {
			found = append(
				found,
				Finding{
					Code:     CodeLockEscalation,
					Severity: SeverityWarning,
					Found:    fmt.Sprintf("LOCK_ESCALATION of %s is %s", r.Table, r.Escalation),
					Why:      "a statement that locks more than 5,000 rows locks the whole table, and READPAST does not skip that",
					SQL:      fixEscalation(r.Table, option),
				},
			)
		}
	}
	if len(found) == 0 {
		found = append(
			found,
			good(
				CodeLockEscalation,
				"off for the %d tables in which many rows are locked at once",
				len(want.escalation),
			),
		)
	}
	return found, nil
}

// checkCollations finds columns whose collation is neither declared nor the database's. Comparing
// such a column with a table variable or with a column of OPENJSON fails with error 468.
func checkCollations(ctx context.Context, e *examination) ([]Finding, error) {
	rows, err := call.SelectRows[collated](ctx, e.conn, Text("collations"))
	if err != nil {
		return nil, err
	}
	declared, err := collatedColumns()
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r collated) bool { return declared[[2]string{strings.ToLower(r.Table), r.Column}] })
	return e.database.columnCollations(rows), nil
}

// collated is a column of texts.
type collated struct {
	Table     string `db:"table_name"`
	Column    string `db:"column_name"`
	Type      string `db:"type_name"`
	Nullable  bool   `db:"is_nullable"`
	Collation string `db:"collation_name"`
}

// columnCollations returns the finding about columns that should have the collation of the
// database, if some have another. If they all have the same other one, the database was changed
// after the installation; otherwise the columns were.
func (f Facts) columnCollations(columns []collated) []Finding {
	others := slices.DeleteFunc(slices.Clone(columns), func(c collated) bool { return c.Collation == f.Collation })
	if len(others) == 0 {
		return nil // collationFinding has reported the collation
	}
	var names []string
	same := len(others) == len(columns)
	collation := others[0].Collation
	for _, c := range others {
		names = append(names, fmt.Sprintf("%s.%s %s", c.Table, c.Column, c.Collation))
		same = same && c.Collation == collation
	}
	finding := Finding{
		Code:     CodeCollation,
		Severity: SeverityError,
		Found: fmt.Sprintf(
			"%s with another collation than the database's (%s)",
			wording.Count(len(names), "column"),
			wording.First(names),
		),
		Why: "procedures that compare them with texts of the database's collation fail (error 468)",
	}
	switch {
	case !same:
		finding.SQL = fixColumnCollations(others, f.Collation)
	case f.EngineEdition == EditionAzureDatabase || f.EngineEdition == EditionFabric:
		finding.Command = fmt.Sprintf(
			"install in a new database with the collation %s; that of a database in Azure cannot be changed",
			collation,
		)
	default:
		finding.SQL = fixCollation(collation)
	}
	return []Finding{finding}
}

// DeclaredTables returns the names of the tables that a file of the schema creates.
func DeclaredTables(o sqlfs.Object) []string {
	if o.Kind != sqlfs.KindTable { // the texts of the modules are long
		return nil
	}
	var names []string
	for _, m := range tableDeclaration.FindAllStringSubmatch(o.Text, -1) {
		names = append(names, m[1])
	}
	return names
}

// columnCollation matches the declaration of a column with a collation.
var columnCollation = regexp.MustCompile(`(?m)^\s*(\w+)\s[^,\n]*\bCOLLATE\b`)

// collatedColumns are the columns for which the schema's files declare a collation, with the names
// of their tables in lower case.
var collatedColumns = sync.OnceValues(func() (map[[2]string]bool, error) {
	objects, err := sqlfs.Objects()
	if err != nil {
		return nil, fmt.Errorf("read the embedded schema: %w", err)
	}
	columns := map[[2]string]bool{}
	for _, o := range objects {
		if o.Kind != sqlfs.KindTable {
			continue
		}
		for _, part := range splitBefore(o.Text, tableDeclaration) {
			table := tableDeclaration.FindStringSubmatch(part)
			if table == nil {
				continue
			}
			for _, column := range columnCollation.FindAllStringSubmatch(part, -1) {
				columns[[2]string{strings.ToLower(table[1]), column[1]}] = true
			}
		}
	}
	return columns, nil
})

// checkForeign finds foreign objects in our schemas. A schema that is not installed is reported by
// checkSchema.
func checkForeign(ctx context.Context, e *examination) ([]Finding, error) {
	objects, _, err := installed.Embedded()
	if err != nil {
		return nil, err
	}
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	present, err := ReadObjects(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	triggers, err := sqlfs.ReadOnly()
	if err != nil {
		return nil, fmt.Errorf("read the embedded schema: %w", err)
	}
	known := map[string]bool{}
	for _, o := range slices.Concat(objects, triggers) {
		known[strings.ToLower(o.Name)] = true
		for _, name := range DeclaredTables(o) {
			known[strings.ToLower(name)] = true
		}
	}
	var found []Finding
	for _, p := range present {
		if p.Name == "" || known[strings.ToLower(p.Schema+"."+p.Name)] {
			continue
		}
		name := tsql.Name(p.Schema, p.Name)
		f := Finding{
			Code:     CodeForeign,
			Severity: SeverityWarning,
			Found: fmt.Sprintf(
				"%s is in the schema of jobagent but does not belong to it (%s)",
				name,
				strings.ToLower(strings.ReplaceAll(p.Kind, "_", " ")),
			),
			Why: "a later version may need the name, and the roles of jobagent have rights on the whole schema jobs",
			SQL: fixForeign(p.Kind, name)}
		if p.Kind == "SQL_TRIGGER" {
			f.Why = "it runs inside the transactions of agents, under locks that other sessions wait for"
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		found = append(found, good(CodeForeign, "the schemas jobs, jobs_internal and jobs_rest hold only objects of jobagent"))
	}
	return found, nil
}
