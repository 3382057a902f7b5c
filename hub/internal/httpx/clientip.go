package httpx

import (
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub/module"
)

// ClientIP returns the address of the client. Behind trusted proxies it is the last
// address in X-Forwarded-For that is not a trusted proxy: the client can forge earlier
// ones.
func ClientIP(c *fiber.Ctx, trusted []netip.Prefix) string {
	remote, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if !ok {
		return ""
	}
	address := remote.Unmap()
	hops := strings.Split(c.Get(fiber.HeaderXForwardedFor), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(address, trusted); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap().WithZone("")
	}
	return address.String()
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	for _, prefix := range trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// ClientNetwork returns what counts as one client: its IP address, or for IPv6 its network.
func ClientNetwork(ip string) string { return module.Network(ip) }
