package tdsguard

import "encoding/binary"

// Types of ENVCHANGE (MS-TDS 2.2.7.9) that the driver does not read as two B_VARCHARs.
const (
	envPacketSize = 4
	envCollation  = 7
	envBegin      = 8
	envCommit     = 9
	envRollback   = 10
	envRouting    = 20
)

// envTwoTexts holds the types that the driver reads as two B_VARCHARs.
var envTwoTexts = [...]bool{
	1: true, 2: true, 3: true, 5: true, 6: true, 11: true, 12: true, 13: true,
	15: true, 16: true, 17: true, 18: true, 19: true,
}

// envStep reads ENVCHANGE. The driver reads records up to the token's length, and loses its
// position after an unknown type.
func (g *Guard) envStep() error {
	short := func() error {
		return violation("ENVCHANGE of type %d, whose fields are not what its length says", g.env)
	}
	// field reads a length of one byte, in units, and skips the rest of the field.
	field := func(unit int64, next state) error {
		b := g.take(1)
		if b == nil {
			return nil
		}
		n := unit * int64(b[0])
		if g.remaining -= 1 + n; g.remaining < 0 {
			return short()
		}
		if g.env == envBegin && g.state == atEnvFirst && n != 8 {
			return violation("ENVCHANGE with a transaction of %d bytes", n)
		}
		g.skip, g.state = n, next
		if next == atEnvType {
			g.envEnd()
		}
		return nil
	}
	unit := int64(2)
	if g.env == envBegin || g.env == envCommit || g.env == envRollback {
		unit = 1
	}
	switch g.state {
	case atEnvSize:
		b := g.take(2)
		if b == nil {
			return nil
		}
		g.remaining = int64(binary.LittleEndian.Uint16(b))
		g.state = atEnvType
		g.envEnd()
	case atEnvType:
		g.env = g.buf[g.at]
		g.at++
		g.remaining--
		switch {
		case g.env == envPacketSize:
			g.state = atEnvPacketSize
		case g.env == envCollation:
			g.state = atEnvCollation
		case g.env == envRouting:
			g.state = atEnvRouting
		case unitOf(g.env) != 0:
			g.state = atEnvFirst
		default:
			return violation("ENVCHANGE of type %d, which this client did not request", g.env)
		}
	case atEnvFirst:
		return field(unit, atEnvSecond)
	case atEnvSecond:
		return field(unit, atEnvType)
	case atEnvCollation: // length and five bytes
		b := g.take(6)
		if b == nil {
			return nil
		}
		if g.remaining -= 6; g.remaining < 0 || b[0] != 5 {
			return violation("ENVCHANGE with a collation of %d bytes", b[0])
		}
		g.state = atEnvSecond
	case atEnvPacketSize:
		return g.packetSize()
	case atEnvRouting: // length, protocol, port, characters of the server's name
		b := g.take(7)
		if b == nil {
			return nil
		}
		n := 2 * int64(binary.LittleEndian.Uint16(b[5:]))
		if g.remaining -= 7 + n; g.remaining < 0 {
			return short()
		}
		const longestName = 1024
		if b[2] != 0 || n == 0 || n > 2*longestName {
			return violation("ENVCHANGE that routes to protocol %d, a server's name of %d characters", b[2], n/2)
		}
		g.skip, g.state = n, atEnvRoutingEnd
	case atEnvRoutingEnd: // the old value
		if g.remaining -= 2; g.remaining < 0 {
			return short()
		}
		g.skip, g.state = 2, atEnvType
		g.envEnd()
	}
	return nil
}

// unitOf returns the size in bytes of a unit of the type's two fields; 0 if the type is unknown.
func unitOf(env byte) int {
	switch {
	case env == envBegin, env == envCommit, env == envRollback:
		return 1
	case int(env) < len(envTwoTexts) && envTwoTexts[env]:
		return 2
	}
	return 0
}

// envEnd advances to the next token at the end of this one.
func (g *Guard) envEnd() {
	if g.remaining == 0 {
		g.state = atToken
	}
}

// packetSize reads the digits of the new packet size. The driver slices its buffers by it.
func (g *Guard) packetSize() error {
	if g.count == 0 {
		b := g.take(1)
		if b == nil {
			return nil
		}
		n := int(b[0])
		if g.remaining -= 1 + 2*int64(n); g.remaining < 0 || n == 0 || n > 5 {
			return violation("ENVCHANGE with a packet size of %d digits", n)
		}
		g.count = n
	}
	b := g.take(2 * g.count)
	if b == nil {
		return nil
	}
	size := 0
	for i := 0; i < len(b); i += 2 {
		if b[i] < '0' || b[i] > '9' || b[i+1] != 0 {
			return violation("ENVCHANGE with a packet size that is not a number")
		}
		size = 10*size + int(b[i]-'0')
	}
	if size < minPacket || size > maxPacket {
		return violation("ENVCHANGE with a packet size of %d", size)
	}
	g.count = 0
	g.state = atEnvSecond
	return nil
}
