package drift

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
)

// Fleet holds the schemas of many databases. Of each distinct object it keeps a hash and, within a
// budget, the object; of each distinct schema a list of numbers; of each database its name. A Fleet
// is safe for concurrent use until it is compared.
type Fleet struct {
	options Options
	budget  int64 // bytes left for objects

	mu       sync.Mutex
	numbers  map[Hash]int32 // of variants, by hash
	variants []variant
	keys     map[Key]int32
	named    []Key // keys by number
	shapes   map[Hash]*shape
	order    []*shape
}

// variant is one form of an object.
type variant struct {
	key    int32
	hash   Hash
	object *Object // nil if the budget was used up
}

// shape is one form of a schema: its variants in the order of their hashes, and the databases that
// have it.
type shape struct {
	hash      Hash
	variants  []int32
	databases []string
}

// DefaultBudget is how many bytes of distinct objects a fleet keeps, to say what differs.
const DefaultBudget = 256 << 20

// NewFleet returns an empty fleet that keeps about budget bytes of distinct objects.
func NewFleet(o Options, budget int64) *Fleet {
	return &Fleet{options: o, budget: budget, numbers: map[Hash]int32{}, keys: map[Key]int32{}, shapes: map[Hash]*shape{}}
}

// Entry is a database that is being read. It is not safe for concurrent use.
type Entry struct {
	fleet    *Fleet
	variants []int32
}

// Begin begins a database.
func (f *Fleet) Begin() *Entry { return &Entry{fleet: f} }

// Add adds an object, which must not be changed afterwards.
func (e *Entry) Add(o *Object) {
	f := e.fleet
	if !f.options.compares(o) {
		return
	}
	key, hash := f.options.canonical(o)
	f.mu.Lock()
	defer f.mu.Unlock()
	e.variants = append(e.variants, f.intern(key, hash, o))
}

// intern returns the number of a variant.
func (f *Fleet) intern(key Key, hash Hash, o *Object) int32 {
	if n, ok := f.numbers[hash]; ok {
		return n
	}
	k, ok := f.keys[key]
	if !ok {
		k = int32(len(f.named))
		f.keys[key] = k
		f.named = append(f.named, key)
	}
	v := variant{key: k, hash: hash}
	if o != nil && f.budget >= o.size() {
		f.budget -= o.size()
		v.object = o
	}
	n := int32(len(f.variants))
	f.variants = append(f.variants, v)
	f.numbers[hash] = n
	return n
}

// End ends a database, and returns the hash of its schema. An entry without End does not count.
func (e *Entry) End(database string) Hash {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	s := e.shapeLocked()
	s.databases = append(s.databases, database)
	return s.hash
}

// shapeLocked returns the shape of the entry. The fleet's mu must be held.
func (e *Entry) shapeLocked() *shape {
	f := e.fleet
	slices.SortFunc(e.variants, func(x, y int32) int { return bytes.Compare(f.variants[x].hash[:], f.variants[y].hash[:]) })
	f.number(e.variants)
	slices.SortFunc(e.variants, func(x, y int32) int { return bytes.Compare(f.variants[x].hash[:], f.variants[y].hash[:]) })
	d := sha256.New()
	for _, v := range e.variants {
		d.Write(f.variants[v].hash[:])
	}
	var hash Hash
	d.Sum(hash[:0])
	s := f.shapes[hash]
	if s == nil {
		s = &shape{hash: hash, variants: slices.Clip(e.variants)}
		f.shapes[hash] = s
		f.order = append(f.order, s)
	}
	e.variants = nil
	return s
}

// number gives objects with one key numbers, in the order of their hashes: constraints without
// names of their own that say the same.
func (f *Fleet) number(list []int32) {
	seen := make(map[int32]int, len(list))
	for i, n := range list {
		v := f.variants[n]
		count := seen[v.key]
		seen[v.key]++
		if count == 0 {
			continue
		}
		key := f.named[v.key]
		key.Number = count
		d := newDigest()
		d.text(string(v.hash[:]))
		d.text(string(rune(count)))
		var hash Hash
		d.Sum(hash[:0])
		list[i] = f.intern(key, hash, v.object)
	}
}

// Reference is a schema with which the databases of a fleet are compared.
type Reference struct {
	// Hash is the fingerprint of the schema.
	Hash     Hash
	variants map[int32]int32 // by key
}

// String returns the fingerprint in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Of returns the schema of an entry as the reference. The entry does not count as a database.
func (f *Fleet) Of(e *Entry) Reference {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := e.shapeLocked()
	r := Reference{Hash: s.hash, variants: make(map[int32]int32, len(s.variants))}
	for _, n := range s.variants {
		r.variants[f.variants[n].key] = n
	}
	return r
}

// ErrNoDatabase means that no database was read, so that there is no majority.
var ErrNoDatabase = errors.New("no database was read")

// Majority elects each object: the form that most databases have, or its absence. If several forms
// have the same number, an existing one wins over absence, and else that of the schema that most
// databases have.
func (f *Fleet) Majority() (Reference, error) {
	total := 0
	votes := make([]int, len(f.variants))
	for _, s := range f.order {
		total += len(s.databases)
		for _, v := range s.variants {
			votes[v] += len(s.databases)
		}
	}
	if total == 0 {
		return Reference{}, ErrNoDatabase
	}
	common := slices.MaxFunc(f.used(), func(x, y *shape) int {
		return cmp.Or(cmp.Compare(len(x.databases), len(y.databases)), bytes.Compare(y.hash[:], x.hash[:]))
	})
	inCommon := make(map[int32]bool, len(common.variants))
	for _, v := range common.variants {
		inCommon[v] = true
	}
	present := make([]int, len(f.named))
	best := make([]int32, len(f.named))
	for i := range best {
		best[i] = -1
	}
	for n, v := range f.variants {
		n := int32(n)
		present[v.key] += votes[n]
		if b := best[v.key]; votes[n] > 0 && (b < 0 || f.better(votes, inCommon, n, b)) {
			best[v.key] = n
		}
	}
	e := f.Begin()
	for k, n := range best {
		if n >= 0 && votes[n] >= total-present[k] {
			e.variants = append(e.variants, n)
		}
	}
	return f.Of(e), nil
}

// better reports whether variant x wins the election over y.
func (f *Fleet) better(votes []int, inCommon map[int32]bool, x, y int32) bool {
	if votes[x] != votes[y] {
		return votes[x] > votes[y]
	}
	if inCommon[x] != inCommon[y] {
		return inCommon[x]
	}
	return bytes.Compare(f.variants[x].hash[:], f.variants[y].hash[:]) < 0
}

// used returns the shapes that databases have.
func (f *Fleet) used() []*shape {
	return slices.DeleteFunc(slices.Clone(f.order), func(s *shape) bool { return len(s.databases) == 0 })
}
