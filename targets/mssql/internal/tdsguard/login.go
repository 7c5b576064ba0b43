package tdsguard

import "encoding/binary"

// prelogin checks the answer to PRELOGIN: one packet of options and their values (MS-TDS 2.2.6.5).
// The driver reads packets until the last one, and takes the first byte of ENCRYPTION without a
// check.
func (g *Guard) prelogin(final bool) error {
	b := g.buf[g.at:g.end]
	if !final || len(b) > maxPrelogin {
		return violation("an answer to PRELOGIN of more than %d bytes", min(len(b), maxPrelogin))
	}
	g.at = g.end
	const encryption, notSupported, terminator = 1, 2, 0xFF
	for at := 0; ; at += 5 {
		switch {
		case at < len(b) && b[at] == terminator:
			return nil
		case at+5 >= len(b):
			return violation("an answer to PRELOGIN without an end of its options")
		}
		offset, length := int(binary.BigEndian.Uint16(b[at+1:])), int(binary.BigEndian.Uint16(b[at+3:]))
		if offset+length > len(b) {
			return violation("option %d of the answer to PRELOGIN, which lies outside of it", b[at])
		}
		if b[at] == encryption {
			if length != 1 {
				return violation("an answer to PRELOGIN with an encryption of %d bytes", length)
			}
			g.transparent = b[offset] != notSupported
		}
	}
}

// loginStep reads the tokens that occur only in the answer to a login.
func (g *Guard) loginStep() error {
	switch g.state {
	case atLoginAck: // size, interface, version of TDS, characters of the program's name
		b := g.take(8)
		if b == nil {
			return nil
		}
		size, n := int64(binary.LittleEndian.Uint16(b)), 2*int64(b[7])
		const others = 1 + 4 + 1 + 4
		if size != others+n || n > 2*127 { // the driver multiplies in a byte
			return violation("LOGINACK of %d bytes with a program's name of %d", size, n)
		}
		g.skip, g.state = n+4, atToken
	case atFeature:
		b := g.take(1)
		switch {
		case b == nil:
		case b[0] == featureTerminator:
			g.state = atToken
		case b[0] == featureColumnCrypto:
			return violation("FEATUREEXTACK of column encryption, which the login did not request")
		default:
			g.state = atFeatureSize
		}
	case atFeatureSize:
		b := g.take(4)
		if b == nil {
			return nil
		}
		n := int64(binary.LittleEndian.Uint32(b))
		if g.remaining -= 5 + n; g.remaining < 0 {
			return violation("FEATUREEXTACK with a feature of %d bytes", n)
		}
		g.skip, g.state = n, atFeature
	case atFedAuth: // size, count of options
		b := g.take(8)
		if b == nil {
			return nil
		}
		size, count := int64(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:]))
		const option, options = 9, 8
		if count > options || size < 4+option*count || size > maxLogin {
			return violation("FEDAUTHINFO of %d bytes with %d options", size, count)
		}
		g.size, g.remaining, g.count = size, 4+option*count, int(count)
		g.state = atFedAuthOption
		if count == 0 {
			g.skip = size - g.remaining
			g.loginMessageEnds()
		}
	case atFedAuthOption: // id, length, offset
		b := g.take(9)
		if b == nil {
			return nil
		}
		length, offset := int64(binary.LittleEndian.Uint32(b[1:])), int64(binary.LittleEndian.Uint32(b[5:]))
		if b[0] != 1 && b[0] != 2 || offset < g.remaining || offset+length > g.size || length%2 != 0 {
			return violation("FEDAUTHINFO with option %d of %d bytes at %d, of %d bytes", b[0], length, offset, g.size)
		}
		if g.count--; g.count == 0 {
			g.skip = g.size - g.remaining
			g.loginMessageEnds()
		}
	case atSSPI:
		b := g.take(2)
		if b == nil {
			return nil
		}
		g.skip = int64(binary.LittleEndian.Uint16(b))
		g.loginMessageEnds()
	}
	return nil
}

// loginMessageEnds ends the current message. After these tokens the driver stops reading and sends
// a request.
func (g *Guard) loginMessageEnds() { g.state = atLoginEnd }
