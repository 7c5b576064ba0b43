package tree

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// ResultColumnOf returns the result column of a node, with a name.
func ResultColumnOf(n *Node, name string) ResultColumn {
	c := ResultColumn{
		Name:  name,
		Type:  n.Type,
		Null:  n.Null,
		Loose: n.Loose,
		Label: n.Label,
		Auto:  BaseColumn(n),
		Expr:  n.Op != OpCol || n.Column < 0,
	}
	switch {
	case c.Auto != nil:
		c.Origin = c.Auto
	case !c.Expr:
		c.Origin, c.Expr = n.Source.Columns[n.Column].Origin, n.Source.Columns[n.Column].Expr
	}
	return c
}

// ClientOrigin returns the origin of a column as reported to clients, or nil.
func (c *SourceColumn) ClientOrigin() *types.Origin {
	if c == nil || c.Owner == nil || len(c.Owner.ClientName) == 0 {
		return nil
	}
	return &types.Origin{Table: c.Owner.ClientName, Column: c.Base.Name}
}
