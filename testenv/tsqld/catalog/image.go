package catalog

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Image is the committed content of a database, from which any instance can create a database. It
// is immutable.
type Image struct {
	id      int
	options Options
	content []byte
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
	return &Image{id: d.ID, options: d.Options, content: content}, nil
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
	d, err := c.copied(ctx, conn, id, now)
	if err != nil {
		return nil, err
	}
	c.nextID++
	d.Name, d.OwnerID, d.Options = name, owner, from.options
	if d, err = c.initialize(ctx, d, from.id, now); err != nil {
		return nil, errors.Join(err, c.store.Drop(id))
	}
	s.databases[id], s.byName[Fold(name)] = d, d
	c.current.Store(s)
	return d, nil
}
