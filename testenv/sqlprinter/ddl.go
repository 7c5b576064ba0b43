package sqlprinter

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
)

// ddl writes the definitions of tables, indexes and other objects.
func ddl(w *printer.Writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.CreateTableStmt:
		w.Put("CREATE TABLE ", s.Name, " ", s.Def)
		named(w, " ON ", s.On)
		named(w, " TEXTIMAGE_ON ", s.TextImageOn)
		printer.Listed(w, " WITH (", s.Options, ")")
	case *syntax.AlterTableStmt:
		w.Put("ALTER TABLE ", s.Table, " ", s.Action)
	case *syntax.CreateIndexStmt:
		createIndex(w, s)
	case *syntax.AlterIndexStmt:
		alterIndex(w, s)
	case *syntax.DropIndexStmt:
		w.Text("DROP INDEX ")
		w.TextIf(s.IfExists, "IF EXISTS ")
		printer.Nodes(w, s.Items)
	case *syntax.DropStmt:
		w.Text("DROP ", s.Kind)
		w.TextIf(s.IfExists, " IF EXISTS")
		w.TextIf(len(s.Names) > 0, " ")
		printer.Nodes(w, s.Names)
	case *syntax.CreateFunctionStmt:
		function(w, s)
	case *syntax.CreateViewStmt:
		view(w, s)
	case *syntax.CreateTypeStmt:
		createType(w, s)
	case *syntax.SequenceStmt:
		sequence(w, s)
	case *syntax.CreateSynonymStmt:
		w.Put("CREATE SYNONYM ", s.Name, " FOR ", s.Target)
	case *syntax.TriggerStmt:
		w.Text(printer.Either(s.Enable, "ENABLE TRIGGER ", "DISABLE TRIGGER "))
		w.TextIf(len(s.Names) == 0, "ALL")
		printer.Nodes(w, s.Names)
		w.Put(" ON ", s.Table)
	default:
		database(w, s)
	}
}

// alterIndex writes ALTER INDEX.
func alterIndex(w *printer.Writer, s *syntax.AlterIndexStmt) {
	w.Text("ALTER INDEX ")
	w.TextIf(s.Name.Name == "", "ALL")
	w.Put(s.Name, " ON ", s.Table, " ", s.Action)
	printer.Opt(w, " PARTITION = ", s.Partition)
	if s.Action == "SET" {
		printer.List(w, " (", s.Options, ")")
		return
	}
	printer.Listed(w, " WITH (", s.Options, ")")
}

// view writes a view.
func view(w *printer.Writer, s *syntax.CreateViewStmt) {
	w.Put(s.Verb.String(), " VIEW ", s.Name)
	idents(w, s.Columns)
	moduleOptions(w, s.Options)
	w.Put(" AS ", s.Query)
	w.TextIf(s.CheckOption, " WITH CHECK OPTION")
}

// createType writes CREATE TYPE.
func createType(w *printer.Writer, s *syntax.CreateTypeStmt) {
	w.Put("CREATE TYPE ", s.Name)
	if s.From != nil {
		w.Put(" FROM ", s.From)
		null(w, s.Null)
		return
	}
	w.Put(" AS TABLE ", s.Table)
}

// database writes definitions of schemas and databases.
func database(w *printer.Writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.CreateSchemaStmt:
		w.Text("CREATE SCHEMA")
		named(w, " ", s.Name)
		if s.Authorization.Name != "" {
			w.Text(" AUTHORIZATION ")
			principal(w, s.Authorization)
		}
		for _, e := range s.Elements {
			w.Text(" ")
			simple(w, e)
		}
	case *syntax.AlterSchemaStmt:
		w.Put("ALTER SCHEMA ", s.Name, " TRANSFER ")
		w.TextIf(s.Class != "", s.Class, "::")
		w.Put(s.Object)
	case *syntax.CreateDatabaseStmt:
		w.Put("CREATE DATABASE ", s.Name)
		w.TextIf(s.Containment != "", " CONTAINMENT = ", s.Containment)
		w.TextIf(s.Files, " ON ()")
		w.TextIf(s.Collation != "", " COLLATE ", s.Collation)
		printer.Listed(w, " WITH ", s.Options)
	case *syntax.AlterDatabaseStmt:
		alterDatabase(w, s)
	default:
		security(w, s)
	}
}

// alterDatabase writes ALTER DATABASE.
func alterDatabase(w *printer.Writer, s *syntax.AlterDatabaseStmt) {
	w.Text("ALTER DATABASE ")
	if s.Scoped {
		w.Text("SCOPED CONFIGURATION ")
		w.TextIf(len(s.Set) != 1 || len(s.Set[0].Name) < 6 || s.Set[0].Name[:6] != "CLEAR ", "SET ")
		printer.Nodes(w, s.Set)
		return
	}
	w.TextIf(s.Name.Name == "", "CURRENT")
	w.Put(s.Name)
	printer.Listed(w, " SET ", s.Set)
	if s.Termination != "" {
		w.Text(" WITH ", s.Termination)
		if s.Termination == "ROLLBACK AFTER" {
			w.Text(" ", strconv.Itoa(s.After))
		}
	}
	named(w, " MODIFY NAME = ", s.NewName)
	printer.Listed(w, " MODIFY (", s.Modify, ")")
}

// tableDef writes a table definition in parentheses.
func tableDef(w *printer.Writer, d *syntax.TableDef) {
	w.Text("(")
	elements(w, d)
	w.Text(")")
}

// elements writes columns, then constraints, then indexes.
func elements(w *printer.Writer, d *syntax.TableDef) {
	printer.Nodes(w, d.Columns)
	w.TextIf(len(d.Columns) > 0 && len(d.Constraints) > 0, ", ")
	printer.Nodes(w, d.Constraints)
	w.TextIf(len(d.Columns)+len(d.Constraints) > 0 && len(d.Indexes) > 0, ", ")
	printer.Nodes(w, d.Indexes)
}

// column writes a column.
func column(w *printer.Writer, c *syntax.ColumnDef) {
	w.Put(c.Name)
	if c.Computed != nil {
		w.Put(" AS ", c.Computed)
		w.TextIf(c.Persisted, " PERSISTED")
	} else if c.Type != nil {
		w.Put(" ", c.Type)
	}
	w.TextIf(c.Collation != "", " COLLATE ", c.Collation)
	w.TextIf(c.Sparse, " SPARSE")
	null(w, c.Null)
	printer.Opt(w, " ", c.Identity)
	w.TextIf(c.RowGUIDCol, " ROWGUIDCOL")
	printer.Opt(w, " ", c.Default)
	for _, k := range c.Constraints {
		w.Put(" ", k)
	}
	printer.Opt(w, " ", c.Index)
}

// identity writes IDENTITY.
func identity(w *printer.Writer, i *syntax.IdentitySpec) {
	w.Text("IDENTITY(", i.Seed, ", ", i.Increment, ")")
	w.TextIf(i.NotForReplication, " NOT FOR REPLICATION")
}

// constraint writes a constraint.
func constraint(w *printer.Writer, c syntax.Constraint) {
	if name := c.ConstraintName(); name.Name != "" {
		w.Text("CONSTRAINT ", printer.IdentText(name), " ")
	}
	switch c := c.(type) {
	case *syntax.KeyConstraint:
		w.Text(printer.Either(c.Primary, "PRIMARY KEY", "UNIQUE"))
		clustering(w, " ", c.Clustering, "")
		printer.Listed(w, " (", c.Columns, ")")
		printer.Listed(w, " WITH (", c.Options, ")")
		named(w, " ON ", c.On)
	case *syntax.ForeignKeyConstraint:
		if len(c.Columns) > 0 {
			w.Text("FOREIGN KEY")
			idents(w, c.Columns)
			w.Text(" ")
		}
		w.Put("REFERENCES ", c.RefTable)
		idents(w, c.RefColumns)
		action := map[syntax.RefAction]string{syntax.Cascade: "CASCADE", syntax.SetNull: "SET NULL", syntax.SetDefault: "SET DEFAULT"}
		w.TextIf(c.OnDelete != syntax.NoAction, " ON DELETE ", action[c.OnDelete])
		w.TextIf(c.OnUpdate != syntax.NoAction, " ON UPDATE ", action[c.OnUpdate])
		w.TextIf(c.NotForReplication, " NOT FOR REPLICATION")
	case *syntax.CheckConstraint:
		w.Text("CHECK ")
		w.TextIf(c.NotForReplication, "NOT FOR REPLICATION ")
		w.Put("(", c.Cond, ")")
	case *syntax.DefaultConstraint:
		w.Put("DEFAULT ", c.Value)
		named(w, " FOR ", c.Column)
		w.TextIf(c.WithValues, " WITH VALUES")
	}
}

// clustering writes CLUSTERED or NONCLUSTERED.
func clustering(w *printer.Writer, before string, c syntax.Clustering, behind string) {
	w.TextIf(c == syntax.Clustered, before, "CLUSTERED", behind)
	w.TextIf(c == syntax.NonClustered, before, "NONCLUSTERED", behind)
}

// indexColumn writes a column of a key or index.
func indexColumn(w *printer.Writer, c *syntax.IndexColumn) {
	w.Put(c.Name)
	w.TextIf(c.Desc, " DESC")
}

// createIndex writes CREATE INDEX.
func createIndex(w *printer.Writer, s *syntax.CreateIndexStmt) {
	w.Text("CREATE ")
	w.TextIf(s.Def.Unique, "UNIQUE ")
	clustering(w, "", s.Def.Clustering, " ")
	w.Put("INDEX ", s.Def.Name, " ON ", s.Table)
	indexTail(w, s.Def)
}

// inlineIndex writes an index inside a table definition.
func inlineIndex(w *printer.Writer, d *syntax.IndexDef) {
	w.Put("INDEX ", d.Name)
	w.TextIf(d.Unique, " UNIQUE")
	clustering(w, " ", d.Clustering, "")
	indexTail(w, d)
}

// indexTail writes the columns of an index and the clauses after them.
func indexTail(w *printer.Writer, d *syntax.IndexDef) {
	printer.Listed(w, " (", d.Columns, ")")
	if len(d.Include) > 0 {
		w.Text(" INCLUDE")
		idents(w, d.Include)
	}
	where(w, d.Where, nil)
	printer.Listed(w, " WITH (", d.Options, ")")
	named(w, " ON ", d.On)
}

// dropIndexItem writes an index to drop.
func dropIndexItem(w *printer.Writer, d *syntax.DropIndexItem) {
	w.Put(d.Index, " ON ", d.Table)
	printer.Listed(w, " WITH (", d.Options, ")")
}

// mode writes WITH CHECK or WITH NOCHECK.
func mode(w *printer.Writer, m syntax.CheckMode) {
	w.TextIf(m == syntax.WithCheck, "WITH CHECK ")
	w.TextIf(m == syntax.WithNoCheck, "WITH NOCHECK ")
}

// allOr writes names, or ALL if there are none.
func allOr(w *printer.Writer, ids []syntax.Ident) {
	w.TextIf(len(ids) == 0, "ALL")
	identList(w, ids)
}

// alterAction writes the action of ALTER TABLE.
func alterAction(w *printer.Writer, a syntax.AlterTableAction) {
	switch a := a.(type) {
	case *syntax.AlterAdd:
		mode(w, a.Mode)
		w.Text("ADD ")
		elements(w, a.Def)
	case *syntax.AlterDrop:
		printer.List(w, "DROP ", a.Items)
	case *syntax.AlterColumn:
		w.Put("ALTER COLUMN ", a.Column)
		w.TextIf(a.Add != "", " ADD ", a.Add)
		w.TextIf(a.Drop != "", " DROP ", a.Drop)
	case *syntax.AlterCheck:
		mode(w, a.Mode)
		w.Text(printer.Either(a.Enable, "CHECK CONSTRAINT ", "NOCHECK CONSTRAINT "))
		allOr(w, a.Names)
	case *syntax.AlterTrigger:
		w.Text(printer.Either(a.Enable, "ENABLE TRIGGER ", "DISABLE TRIGGER "))
		allOr(w, a.Names)
	case *syntax.AlterSet:
		printer.List(w, "SET (", a.Options, ")")
	case *syntax.AlterRebuild:
		w.Text("REBUILD")
		printer.Opt(w, " PARTITION = ", a.Partition)
		printer.Listed(w, " WITH (", a.Options, ")")
	}
}

// dropItem writes a column or constraint to drop.
func dropItem(w *printer.Writer, i *syntax.AlterDropItem) {
	w.Text(printer.Either(i.Column, "COLUMN ", "CONSTRAINT "))
	w.TextIf(i.IfExists, "IF EXISTS ")
	w.Put(i.Name)
}

// sequence writes CREATE and ALTER SEQUENCE.
func sequence(w *printer.Writer, s *syntax.SequenceStmt) {
	w.Put(s.Verb.String(), " SEQUENCE ", s.Name)
	printer.Opt(w, " AS ", s.Type)
	switch {
	case s.Restart:
		w.Text(" RESTART")
		w.TextIf(s.StartWith != "", " WITH ", s.StartWith)
	case s.StartWith != "":
		w.Text(" START WITH ", s.StartWith)
	}
	w.TextIf(s.Step != "", " INCREMENT BY ", s.Step)
	w.TextIf(s.Min != "", " MINVALUE ", s.Min)
	w.TextIf(s.NoMin, " NO MINVALUE")
	w.TextIf(s.Max != "", " MAXVALUE ", s.Max)
	w.TextIf(s.NoMax, " NO MAXVALUE")
	w.TextIf(s.Cycle, " CYCLE")
	w.TextIf(s.NoCycle, " NO CYCLE")
	w.TextIf(s.HasCache, " CACHE")
	w.TextIf(s.Cache != "", " ", s.Cache)
	w.TextIf(s.NoCache, " NO CACHE")
}

// moduleOptions writes a blank and WITH options.
func moduleOptions(w *printer.Writer, o syntax.ModuleOptions) {
	var opts []string
	add := func(ok bool, text string) {
		if ok {
			opts = append(opts, text)
		}
	}
	add(o.Encryption, "ENCRYPTION")
	add(o.SchemaBinding, "SCHEMABINDING")
	add(o.Recompile, "RECOMPILE")
	add(o.ViewMetadata, "VIEW_METADATA")
	add(o.ReturnsNull, "RETURNS NULL ON NULL INPUT")
	add(o.CalledOnNull, "CALLED ON NULL INPUT")
	add(o.Inline != "", "INLINE = "+o.Inline)
	switch {
	case o.ExecuteAsIsQuote:
		opts = append(opts, "EXECUTE AS "+printer.QuoteString(o.ExecuteAs))
	case o.ExecuteAs != "":
		opts = append(opts, "EXECUTE AS "+o.ExecuteAs)
	}
	if opts != nil {
		w.Text(" WITH ")
		words(w, opts)
	}
}

// param writes a parameter.
func param(w *printer.Writer, a *syntax.Param) {
	w.Text(a.Name, " ")
	w.Put(a.Type)
	null(w, a.Null)
	printer.Opt(w, " = ", a.Default)
	w.TextIf(a.Output, " OUTPUT")
	w.TextIf(a.ReadOnly, " READONLY")
}

// procedure writes a procedure.
func procedure(w *printer.Writer, s *syntax.CreateProcedureStmt) {
	w.Put(s.Verb.String(), " PROCEDURE ", s.Name)
	w.TextIf(len(s.Params) > 0, " ")
	printer.Nodes(w, s.Params)
	moduleOptions(w, s.Options)
	w.Text(" AS")
	stmts(w, s.Body)
}

// function writes a function.
func function(w *printer.Writer, s *syntax.CreateFunctionStmt) {
	w.Put(s.Verb.String(), " FUNCTION ", s.Name)
	printer.List(w, "(", s.Params, ") RETURNS ")
	switch {
	case s.Query != nil:
		w.Text("TABLE")
	case s.TableVar != "":
		w.Put(s.TableVar, " TABLE ", s.Table)
	default:
		w.Put(s.Returns)
	}
	moduleOptions(w, s.Options)
	w.Text(" AS")
	if s.Query != nil {
		w.Put(" RETURN ", s.Query)
		return
	}
	w.Line()
	w.Text("BEGIN")
	stmts(w, s.Body)
	w.Line()
	w.Text("END")
}

// createTrigger writes a trigger.
func createTrigger(w *printer.Writer, s *syntax.CreateTriggerStmt) {
	w.Put(s.Verb.String(), " TRIGGER ", s.Name, " ON ", s.Table)
	moduleOptions(w, s.Options)
	w.Text(printer.Either(s.InsteadOf, " INSTEAD OF ", " AFTER "))
	words(w, s.Events)
	w.TextIf(s.NotForReplication, " NOT FOR REPLICATION")
	w.Text(" AS")
	stmts(w, s.Body)
}
