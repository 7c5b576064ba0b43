package syntax

// backup reads BACKUP and RESTORE, which are recognised and not done.
func (p *parser) backup() Stmt {
	verb := p.next().up
	what := verb + " "
	switch {
	case p.atAny("DATABASE", "LOG"):
		what += p.next().up
		if p.tok().kind == tokVar {
			p.next()
		} else {
			p.ident()
		}
	case verb == "RESTORE" && p.atAny("HEADERONLY", "FILELISTONLY", "VERIFYONLY", "LABELONLY", "REWINDONLY"):
		what += p.next().up
	case p.at("CERTIFICATE"), p.at("MASTER", "KEY"), p.at("SERVICE", "MASTER", "KEY"), p.at("SYMMETRIC", "KEY"):
		p.reject(what + p.words(false))
		return nil
	default:
		p.fail()
		return nil
	}
	if p.gotAny("TO", "FROM") != "" {
		for {
			p.gotAny("DISK", "URL", "TAPE", "VIRTUAL_DEVICE")
			p.got("=")
			if p.tok().kind == tokVar || atIdent(p.tok()) {
				p.next()
			} else {
				p.secret()
			}
			if !p.got(",") {
				break
			}
		}
	}
	if p.got("WITH") {
		for {
			if p.got("MOVE") {
				p.secret()
				p.want("TO")
				p.secret()
			} else {
				p.option(false)
			}
			if !p.got(",") {
				break
			}
		}
	}
	return &UnsupportedStmt{What: what}
}

// dbcc reads DBCC.
func (p *parser) dbcc() Stmt {
	p.want("DBCC")
	t := p.tok()
	if t.kind != tokWord {
		p.fail()
		return nil
	}
	p.next()
	s := &DBCCStmt{Command: t.up}
	if p.got("(") {
		for p.err == nil && !p.at(")") {
			switch t := p.tok(); {
			case atIdent(t), t.kind == tokWord && !t.is("NULL"):
				e := expr{p.here()}
				if atIdent(t) && p.ahead(1).is(".") {
					s.Args = append(s.Args, &ColumnRef{expr: e, Parts: p.parts("object")})
				} else {
					p.next()
					s.Args = append(s.Args, &ColumnRef{expr: e, Parts: []Ident{{Name: t.text, Quoted: t.kind == tokQuoted, At: t.at}}})
				}
			default:
				s.Args = append(s.Args, p.expr())
			}
			if !p.got(",") {
				break
			}
		}
		p.want(")")
	}
	if p.got("WITH") {
		s.Options = p.optionList(false)
	}
	return s
}

// kill reads KILL.
func (p *parser) kill() Stmt {
	p.want("KILL")
	if p.at("STATS", "JOB") || p.at("QUERY", "NOTIFICATION") {
		p.reject("KILL " + p.tok().up)
		return nil
	}
	s := &KillStmt{Session: p.expr()}
	s.StatusOnly = p.got("WITH", "STATUSONLY")
	return s
}
