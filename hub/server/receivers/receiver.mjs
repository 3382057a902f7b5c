// A receiver that verifies X-Webhook-Signature: node receiver.mjs SECRET
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
const server = createServer(async (request, response) => {
	const body = Buffer.concat(await request.toArray()) // the raw bytes, before parsing
	const want = Buffer.from('sha256=' + createHmac('sha256', process.argv[2]).update(body).digest('hex'))
	const got = Buffer.from(request.headers['x-webhook-signature'] ?? '')
	response.writeHead(got.length === want.length && timingSafeEqual(got, want) ? 204 : 401).end()
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
