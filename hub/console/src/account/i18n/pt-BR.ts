import { clinic } from "./clinic.pt-BR";
import type { AccountMessages } from "./en";
import { messaging } from "./messaging.pt-BR";

export const messages: AccountMessages = {
	...clinic,
	...messaging,
	nav: { connections: "Conexões", integrations: "Integrações", connect: "Conectar", keys: "Chaves de API", log: "Registro de webhooks", clinic: "Pacientes", inbox: "Caixa de entrada", imports: "Importações", deletions: "Pedidos de exclusão", messaging: "Mensagens", chatConnections: "Conexões de chat" },
	shell: {
		search: "Buscar no registro por evento, entrega ou id de correlação",
		roles: { owner: "Proprietário", admin: "Administrador", staff: "Equipe", professional: "Profissional", user: "Usuário" },
	},
	integrations: {
		lead: "Outros produtos aos quais esta conta está conectada.",
		empty: "Conecte outro produto com uma chave que ele emitiu.",
		connect: "Conectar um produto",
		disconnect: "Desconectar",
		disconnectText: (product) => `Isto encerra a conexão com ${product} definitivamente: chaves e segredos são removidos e ${product} é avisado. Digite ${product} para confirmar.`,
	},
	connect: {
		title: "Conectar um produto",
		lead: "Os dois produtos trocam chaves e segredos entre si.",
		peer: "Com uma chave do outro produto",
		other: "A partir do outro lado",
		otherLead: "O outro produto também pode conectar: entregue ao administrador dele este endereço e uma chave desta conta.",
		ourURL: "Endereço da API desta conta",
		issue: "Criar uma chave",
	},
	keys: {
		lead: "Chaves para outros produtos. Uma chave é mostrada uma única vez; depois, só o começo e o fim.",
		empty: "Crie uma para um produto que vai se conectar a esta conta.",
	},
	log: {
		title: "Registro de webhooks",
		lead: "O que foi enviado a outros produtos e o que veio deles, do mais novo ao mais antigo.",
		phone: "Sobre um telefone",
		phoneHelp: "Com DDD. O número não fica no endereço da página.",
		emptyTitle: "Nada foi enviado ou recebido ainda",
		empty: "Os webhooks aparecem aqui quando outro produto estiver conectado.",
	},
};
