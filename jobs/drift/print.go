package drift

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/jobagent/jobagent/jobs/wording"
)

// Print is a schema without its definitions: the fingerprint, and what is needed to name the
// objects in which it differs from another one. It is not safe for concurrent use.
type Print struct {
	entry *Entry
	parts []part
	names map[string]bool
	count int
	hash  Hash
}

// part is an object of a print, or the order of the columns of a table.
type part struct {
	key   Key
	order bool
	name  string
	hash  Hash
}

// NewPrint returns an empty print.
func NewPrint(o Options) *Print {
	return &Print{entry: NewFleet(o, 0).Begin(), names: map[string]bool{}}
}

// Add adds an object, which must not be changed afterwards.
func (p *Print) Add(o *Object) {
	options := p.entry.fleet.options
	if !options.compares(o) {
		return
	}
	p.entry.Add(o)
	p.count++
	if o.Kind != KindTable || options.IgnoreColumnOrder {
		key, hash := options.canonical(o)
		p.add(part{key: key, name: key.String(), hash: hash})
		return
	}
	// A column that is added changes the order of columns, too: this is a part of its own, so that
	// the table is not named as well.
	options.IgnoreColumnOrder = true
	key, hash := options.canonical(o)
	p.add(part{key: key, name: key.String(), hash: hash})
	d := newDigest()
	d.text(o.Properties.Get(PropertyColumnOrder))
	d.Sum(hash[:0])
	p.add(part{key: key, order: true, name: "order of columns of " + shown(o.Schema, o.Name), hash: hash})
}

func (p *Print) add(x part) {
	x.name = wording.Clip(x.name, maxPartName, wording.Characters)
	p.names[x.name] = true
	p.parts = append(p.parts, x)
}

// maxPartName is the length of the name of a part, in characters.
const maxPartName = 300

// End ends the print. Add must not be called any more.
func (p *Print) End() {
	p.hash = p.entry.fleet.Of(p.entry).Hash
	slices.SortFunc(p.parts, func(x, y part) int {
		return cmp.Or(compareKeys(x.key, y.key), cmp.Compare(x.name, y.name), slices.Compare(x.hash[:], y.hash[:]))
	})
}

// Fingerprint returns the fingerprint, which is that of [Entry.End] for the same options.
func (p *Print) Fingerprint() Hash { return p.hash }

// Objects returns the number of compared objects.
func (p *Print) Objects() int { return p.count }

// Parts returns a JSON array with an array for each object, in the order in which a database is
// built: the object in words, 16 hexadecimal digits of its hash, and the object to which it
// belongs, in words, or an empty text.
func (p *Print) Parts() (string, error) {
	list := make([][3]string, 0, len(p.parts))
	for _, x := range p.parts {
		list = append(list, [3]string{x.name, hex.EncodeToString(x.hash[:8]), p.owner(x)})
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// owner returns the name of the table or view to which a part belongs.
func (p *Print) owner(x part) string {
	schema, name := x.key.Schema, x.key.Table
	if x.order {
		name = x.key.Name
	}
	if name == "" {
		return ""
	}
	for _, kind := range []Kind{KindTable, KindView} {
		owner := wording.Clip(Key{Kind: kind, Schema: schema, Name: name}.String(), maxPartName, wording.Characters)
		if p.names[owner] {
			return owner
		}
	}
	return ""
}
