package catalog

import (
	"context"
	"errors"
	"maps"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Image is the committed content of a database, from which any instance can create a database. It
// is immutable.
type Image struct {
	id          int
	options     Options
	content     []byte
	origin      *Origin
	definitions Memo // the *Database that the content holds, read by the first CreateFrom
}

// Origin identifies the definitions of an image.
type Origin struct{ _ byte } // not of size 0, so that each has an address of its own

// Origin returns the origin of the database's definitions if they are those of an image: databases
// with the same origin, ID and name have equal definitions, so that they can share plans. It
// returns nil for other databases, after a change, and if d is nil.
func (d *Database) Origin() *Origin {
	if d == nil {
		return nil
	}
	return d.origin
}

// Image returns the content of a database.
func (c *Catalog) Image(ctx context.Context, d *Database) (*Image, error) {
	conn, err := c.store.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.store.Release(conn)
	content, err := c.store.Content(ctx, conn, d.ID)
	if err != nil {
		return nil, err
	}
	return &Image{id: d.ID, options: d.Options, content: content, origin: &Origin{}}, nil
}

// CreateFrom creates and publishes a database with the content of an image. Its options are those
// of the image, and its owner is the login with this SID. If the name is taken, the error is 1801.
func (c *Catalog) CreateFrom(ctx context.Context, name string, owner []byte, from *Image, now int64) (*Database, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.clone()
	if s.Database(name) != nil {
		return nil, mserr.DatabaseExists(name)
	}
	id := c.nextID
	conn, err := c.store.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.store.Release(conn)
	if err := c.store.CreateWith(id, from.content); err != nil {
		return nil, err
	}
	read, err := from.definitions.Get(func() (any, error) {
		d, err := c.copied(ctx, conn, id, now)
		if err == nil {
			share(d)
		}
		return d, err
	})
	if err != nil {
		return nil, err
	}
	d := twin(read.(*Database), id, now)
	c.nextID++
	d.Name, d.OwnerID, d.Options = name, owner, from.options
	d.setNames()
	if d, err = c.initialize(ctx, d, from.id, now); err != nil {
		return nil, errors.Join(err, c.store.Drop(id))
	}
	d.origin = from.origin
	s.databases[id], s.byName[Fold(name)] = d, d
	c.current.Store(s)
	return d, nil
}

// share makes the twins of the database share the parsed texts and plans of procedures and
// functions.
func share(d *Database) {
	for _, o := range d.objects {
		switch o := o.(type) {
		case *Procedure:
			o.Parsed, o.Plans = &Memo{}, &Memo{}
		case *Function:
			o.Parsed, o.Plans = &Memo{}, &Memo{}
		}
	}
}

// twin returns the catalog of another database with the same content. The two share their
// definitions, which are immutable, with the parsed texts and plans. They do not share what else
// exec keeps with procedures and functions, because that depends on earlier executions.
func twin(d *Database, id int, now int64) *Database {
	t := *d
	t.ID, t.Created = id, now
	t.objects, t.byName = maps.Clone(d.objects), maps.Clone(d.byName)
	for key, o := range d.objects {
		switch o := o.(type) {
		case *Procedure:
			t.objects[key] = o.unused()
		case *Function:
			t.objects[key] = o.unused()
		default:
			continue
		}
		t.byName[t.keyOf(o)] = t.objects[key]
	}
	return &t
}

// unused returns a copy of a procedure without cached values that depend on executions.
func (p *Procedure) unused() *Procedure {
	return &Procedure{
		Header: p.Header, Module: p.Module.unused(), Params: p.Params, Recompile: p.Recompile, DefaultSchema: p.DefaultSchema,
	}
}

// unused returns a copy of a function without cached values that depend on executions.
func (f *Function) unused() *Function {
	return &Function{
		Header: f.Header, Module: f.Module.unused(), Params: f.Params, Returns: f.Returns, Columns: f.Columns, Table: f.Table,
		ReturnVariable: f.ReturnVariable, ReturnsNullOnNull: f.ReturnsNullOnNull, DefaultSchema: f.DefaultSchema,
	}
}

// unused returns a copy of a module without cached values that depend on executions.
func (m *Module) unused() Module {
	return Module{
		Text: m.Text, AnsiNulls: m.AnsiNulls, QuotedIdentifier: m.QuotedIdentifier, SchemaBound: m.SchemaBound,
		Encrypted: m.Encrypted, ExecuteAs: m.ExecuteAs, ExecuteAsID: m.ExecuteAsID, Parsed: m.Parsed, Plans: m.Plans,
	}
}
