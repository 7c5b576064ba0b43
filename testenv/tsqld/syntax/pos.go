package syntax

// Pos is a place in the source of a batch. The zero Pos belongs to nodes that were not read from a source.
type Pos struct {
	Line   int32 // from 1
	Column int32 // in bytes, from 1
	Offset int32 // in bytes, from 0
}

// Node is anything in the tree.
type Node interface {
	// Pos is where the node's first token starts; for an infix operator that of its left operand.
	Pos() Pos
}

// node is embedded in every node and holds its place.
type node struct{ at Pos }

// Pos implements [Node].
func (n *node) Pos() Pos { return n.at }

// stmt is embedded in every statement.
type stmt struct {
	at  Pos
	end int32
}

// Pos implements [Node].
func (s *stmt) Pos() Pos { return s.at }

// Start is the byte offset of the statement's first token in the batch's source.
func (s *stmt) Start() int { return int(s.at.Offset) }

// End is the byte offset behind the statement's last token, its semicolon not included.
func (s *stmt) End() int { return int(s.end) }

// setExtent records where the statement lies; only the parser calls it.
func (s *stmt) setExtent(at Pos, end int32) { s.at, s.end = at, end }

// stmtNode marks statements.
func (s *stmt) stmtNode() {}

// Stmt is a statement. Batch.Source[s.Start():s.End()] is its text.
type Stmt interface {
	Node
	Start() int
	End() int
	setExtent(at Pos, end int32)
	stmtNode()
}

// Batch is the tree of one batch.
type Batch struct {
	Source string // what was parsed; positions are offsets into it
	Stmts  []Stmt // in source order; empty for a batch of comments and semicolons
	Bytes  int    // about what the text and the tree take
}

// Pos is the start of the first statement.
func (b *Batch) Pos() Pos {
	if len(b.Stmts) == 0 {
		return Pos{Line: 1, Column: 1}
	}
	return b.Stmts[0].Pos()
}
