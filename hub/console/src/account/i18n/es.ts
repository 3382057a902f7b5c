import { clinic } from "./clinic.es";
import type { AccountMessages } from "./en";
import { messaging } from "./messaging.es";

export const messages: AccountMessages = {
	...clinic,
	...messaging,
	nav: { connections: "Conexiones", integrations: "Integraciones", connect: "Conectar", keys: "Claves de API", log: "Registro de webhooks", clinic: "Pacientes", inbox: "Bandeja de entrada", imports: "Importaciones", deletions: "Solicitudes de eliminación", messaging: "Mensajes", chatConnections: "Conexiones de chat" },
	shell: {
		search: "Buscar en el registro por evento, entrega o id de correlación",
		roles: { owner: "Propietario", admin: "Administrador", staff: "Equipo", professional: "Profesional", user: "Usuario" },
	},
	integrations: {
		lead: "Otros productos a los que está conectada esta cuenta.",
		empty: "Conecte otro producto con una clave que este emitió.",
		connect: "Conectar un producto",
		disconnect: "Desconectar",
		disconnectText: (product) => `Esto termina la conexión con ${product} para siempre: se eliminan claves y secretos y se avisa a ${product}. Escriba ${product} para confirmar.`,
	},
	connect: {
		title: "Conectar un producto",
		lead: "Los dos productos intercambian claves y secretos entre sí.",
		peer: "Con una clave del otro producto",
		other: "Desde el otro lado",
		otherLead: "El otro producto también puede conectar: dé a su administrador esta dirección y una clave de esta cuenta.",
		ourURL: "Dirección de la API de esta cuenta",
		issue: "Crear una clave",
	},
	keys: {
		lead: "Claves para otros productos. Una clave se muestra una sola vez; después, solo su comienzo y su final.",
		empty: "Cree una para un producto que vaya a conectarse a esta cuenta.",
	},
	log: {
		title: "Registro de webhooks",
		lead: "Lo que se envió a otros productos y lo que llegó de ellos, de lo más nuevo a lo más antiguo.",
		phone: "Sobre un teléfono",
		phoneHelp: "Con código de área. El número no queda en la dirección de la página.",
		emptyTitle: "Todavía no se envió ni recibió nada",
		empty: "Los webhooks aparecen aquí cuando otro producto esté conectado.",
	},
};
